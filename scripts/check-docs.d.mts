export function documents(): string[];
export function slugOf(heading: string): string;
export function anchorsOf(text: string): string[];
export function deadLinks(file: string, textOf?: (file: string) => string | true | undefined): string[];
export interface Block {
  readonly code: string;
  readonly line: number;
}
export function blocksOf(text: string, language: string): Block[];
export interface UserBlock extends Block {
  readonly file: string;
}
export function userBlocks(): UserBlock[];
export function compileBlocks(blocks: readonly UserBlock[]): {
  readonly errors: readonly string[];
  readonly compiled: number;
  readonly left: readonly UserBlock[];
};
