import type { Labels, Metrics } from "../../src/observe/metrics.js";

/** A sink that writes down what it is told, in order. */
export class Recorder implements Metrics {
  readonly told: [name: string, labels: Labels, value: number][] = [];
  count(name: string, labels: Labels, by = 1): void {
    this.told.push([name, labels, by]);
  }
  move(name: string, labels: Labels, by: number): void {
    this.told.push([name, labels, by]);
  }
  observe(name: string, labels: Labels, seconds: number): void {
    this.told.push([name, labels, seconds]);
  }
  of(name: string): [name: string, labels: Labels, value: number][] {
    return this.told.filter(([told]) => told === name);
  }
  sum(name: string): number {
    return this.of(name).reduce((sum, [, , by]) => sum + by, 0);
  }
}
