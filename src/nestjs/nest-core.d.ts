// What is used of Nest, so that neither our build nor our checks need it. `npm run test:frameworks` compiles an
// application against Nest's own types, and runs it.
declare module "@nestjs/core" {
  /** A provider or a controller, as Nest keeps it. */
  interface InstanceWrapper {
    readonly name: unknown;
    readonly instance: unknown;
    /** False where there is an instance for each request. */
    isDependencyTreeStatic(): boolean;
  }
  export class DiscoveryService {
    getProviders(): InstanceWrapper[];
    getControllers(): InstanceWrapper[];
  }
  export const DiscoveryModule: unknown;
}
