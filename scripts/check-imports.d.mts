type Imports = ReadonlyMap<string, readonly string[]>;

export function readImports(root: string): Imports;
export function checkImports(imports: Imports, allowed?: { readonly [folder: string]: readonly string[] }): string[];
