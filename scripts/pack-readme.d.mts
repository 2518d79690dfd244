export function packedReadme(text: string, home: string | undefined, version: string): string;
