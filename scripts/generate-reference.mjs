// Writes docs/reference.md: every public symbol, as TypeScript prints it, with its doc comment. `node
// scripts/generate-reference.mjs --check` fails when the committed file is not what the sources say, or when an
// exported symbol or a public member of an exported class has no doc comment. TypeScript 7 calls this API unstable; it
// is used here and nowhere else.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SyntaxKind } from "typescript/unstable/ast";
import { API, ModifierFlags, NodeBuilderFlags, SignatureKind } from "typescript/unstable/sync";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = `${root}docs/reference.md`;
const entries = [
  { name: "millrace", file: `${root}src/index.ts` },
  { name: "millrace/testing", file: `${root}src/testing/index.ts` },
  { name: "millrace/server", file: `${root}src/server/index.ts` },
  { name: "millrace/nestjs", file: `${root}src/nestjs/index.ts` },
];
const printFlags =
  NodeBuilderFlags.NoTruncation |
  NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope |
  NodeBuilderFlags.OmitParameterModifiers;
const kinds = {
  [SyntaxKind.ClassDeclaration]: "class",
  [SyntaxKind.InterfaceDeclaration]: "interface",
  [SyntaxKind.TypeAliasDeclaration]: "type",
  [SyntaxKind.FunctionDeclaration]: "function",
  [SyntaxKind.VariableDeclaration]: "constant",
};

/**
 * The reference as the sources say it, and what has no doc comment. `readFile` may answer for files instead of the
 * disk.
 */
export function readReference({ readFile } = {}) {
  const api = new API({ cwd: root, ...(readFile ? { fs: { readFile } } : {}) });
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${root}tsconfig.build.json`] }).getProjects();
    const reader = new SymbolReader(project);
    const exported = entries.map(({ name, file }) => ({ name, symbols: reader.exportsOf(file) }));
    for (const { symbols } of exported) for (const { id } of symbols) reader.publicIds.add(id);
    const parts = exported.map(({ name, symbols }) => [
      `## ${name}`,
      ...symbols.map((symbol) => reader.section(symbol)),
    ]);
    const head = [
      "# Reference",
      "Generated from the doc comments by `node scripts/generate-reference.mjs`. Do not edit.",
    ];
    return { text: `${[...head, ...parts.flat()].join("\n\n")}\n`, undocumented: reader.undocumented };
  } finally {
    api.close();
  }
}

/** What is wrong with the committed reference; nothing when all is well. */
export function checkReference(options) {
  const { text, undocumented } = readReference(options);
  const findings = undocumented.map((name) => `${name} has no doc comment`);
  if (!existsSync(target) || readFileSync(target, "utf8") !== text)
    findings.push("docs/reference.md is stale: run node scripts/generate-reference.mjs");
  return findings;
}

class SymbolReader {
  undocumented = [];
  /** What is exported. A class of ours that is not, but that an exported one extends, is shown as a part of that. */
  publicIds = new Set();
  #checker;
  #emitter;
  #program;

  constructor({ checker, emitter, program }) {
    this.#checker = checker;
    this.#emitter = emitter;
    this.#program = program;
  }

  exportsOf(file) {
    const module = this.#checker.getSymbolAtLocation(this.#program.getSourceFile(file));
    return this.#checker
      .getExportsOfModule(module)
      .map((symbol) =>
        symbol.declarations.some(({ kind }) => kind === SyntaxKind.ExportSpecifier)
          ? this.#checker.getAliasedSymbol(symbol)
          : symbol,
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  section(symbol) {
    const declaration = symbol.declarations[0].resolve();
    const kind = kinds[declaration.kind];
    if (!kind)
      throw new Error(`${symbol.name} is of a kind this script does not know: ${SyntaxKind[declaration.kind]}`);
    const members = declaration.members ? this.#members(symbol) : [];
    const code = {
      class: () => this.#classText(symbol, declaration, members),
      function: () => this.#functionText(symbol, declaration),
    }[kind];
    const about = this.#about(symbol, symbol.name);
    if (kind === "class") for (const member of members) this.#about(member.symbol, `${symbol.name}.${member.name}`);
    const details = members.flatMap((member) => this.#memberLines(member));
    const example = this.#examples(symbol).flatMap((text) => ["Example:", text]);
    const parts = [
      `### ${symbol.name} (${kind})`,
      about,
      fence(code?.() ?? this.#printed(symbol, declaration)),
      ...example,
      details.join("\n").trim(),
    ];
    return parts.filter((part) => part !== "").join("\n\n");
  }

  /** Its doc comment; noted when there is none. */
  #about(symbol, name) {
    const text = symbol.getDocumentationComment(this.#checker).trim();
    if (text === "") this.undocumented.push(name);
    return text;
  }

  #examples(symbol) {
    const examples = symbol.getJsDocTags(this.#checker).filter(({ name }) => name === "example");
    return examples.map(({ text }) => text.trim());
  }

  #memberLines(member) {
    const about = member.symbol
      .getDocumentationComment(this.#checker)
      .trim()
      .replaceAll(/\s*\n\s*/g, " ");
    return about === ""
      ? []
      : [
          `- \`${member.name}\`: ${about}`,
          ...this.#examples(member.symbol).map((example) => `\n${example.replaceAll(/^/gm, "  ")}\n`),
        ];
  }

  /** What a user of a class or interface may touch, in the order of the source. */
  #members(symbol) {
    const statics = [...symbol.getExports().values()]
      .filter(({ name }) => name !== "prototype")
      .map((member) => ({ symbol: member, prefix: "static " }));
    const hidden = this.#hiddenBases(symbol);
    const order = [symbol.id, ...hidden.map(({ id }) => id).toReversed()];
    const own = this.#checker
      .getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol))
      .filter((member) => order.includes(member.getParent()?.id))
      .map((member) => ({ symbol: member, prefix: "", place: order.indexOf(member.getParent().id) }));
    return [...statics, ...own]
      .filter((member) => member.symbol.declarations.length > 0)
      .map((member) => ({ ...member, declaration: member.symbol.declarations[0].resolve() }))
      .toSorted((a, b) => (a.place ?? 0) - (b.place ?? 0) || a.declaration.pos - b.declaration.pos)
      .filter(({ declaration }) => declaration.name.kind !== SyntaxKind.PrivateIdentifier)
      .filter(
        ({ declaration }) => (declaration.modifierFlags & (ModifierFlags.Private | ModifierFlags.Protected)) === 0,
      )
      .map((member) => ({ ...member, name: this.#emitter.printNode(member.declaration.name) }));
  }

  /** The classes of ours that it extends and nobody else sees, the nearest first. */
  #hiddenBases(symbol) {
    const parents = this.#checker
      .getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol))
      .map((member) => member.getParent())
      .filter((parent) => parent && parent.id !== symbol.id && !this.publicIds.has(parent.id) && isOurs(parent));
    return [...new Map(parents.map((parent) => [parent.id, parent])).values()];
  }

  #classText(symbol, declaration, members) {
    const hidden = new Set(this.#hiddenBases(symbol).map(({ name }) => `extends ${name}`));
    const heritage = (declaration.heritageClauses ?? [])
      .map((clause) => this.#emitter.printNode(clause).trim())
      .filter((clause) => !hidden.has(clause))
      .map((clause) => ` ${clause}`)
      .join("");
    const constructors = this.#signatures(
      this.#checker.getTypeOfSymbol(symbol),
      SignatureKind.Construct,
      SyntaxKind.Constructor,
      declaration,
    );
    const lines = members.flatMap((member) => this.#memberTexts(member, declaration));
    const body = [...constructors, ...lines].map((line) => line.replaceAll(/^/gm, "    "));
    return `class ${symbol.name}${this.#typeParameters(declaration)}${heritage} {\n${body.join("\n")}\n}`;
  }

  #typeParameters({ typeParameters }) {
    return typeParameters?.length > 0
      ? `<${[...typeParameters].map((parameter) => this.#emitter.printNode(parameter)).join(", ")}>`
      : "";
  }

  #memberTexts({ symbol, prefix, name, declaration }, enclosing) {
    const type = this.#checker.getTypeOfSymbol(symbol);
    if (declaration.kind === SyntaxKind.MethodDeclaration)
      return this.#signatures(type, SignatureKind.Call, SyntaxKind.MethodDeclaration, enclosing).map(
        (text) => `${prefix}${name}${text}`,
      );
    const isReadonly =
      (declaration.modifierFlags & ModifierFlags.Readonly) !== 0 ||
      (declaration.kind === SyntaxKind.GetAccessor && symbol.declarations.length === 1);
    const printed = declaration.type
      ? this.#emitter.printNode(declaration.type)
      : this.#checker.typeToString(type, enclosing, printFlags);
    return [`${prefix}${isReadonly ? "readonly " : ""}${name}${declaration.questionToken ? "?" : ""}: ${printed};`];
  }

  #functionText(symbol, declaration) {
    const type = this.#checker.getTypeOfSymbol(symbol);
    return this.#signatures(type, SignatureKind.Call, SyntaxKind.MethodDeclaration, declaration)
      .map((text) => `function ${symbol.name}${text}`)
      .join("\n");
  }

  #signatures(type, signatureKind, nodeKind, enclosing) {
    return this.#checker
      .getSignaturesOfType(type, signatureKind)
      .map((signature) =>
        this.#emitter.printNode(
          this.#checker.signatureToSignatureDeclaration(signature, nodeKind, enclosing, printFlags),
        ),
      );
  }

  #printed(symbol, declaration) {
    if (declaration.kind !== SyntaxKind.VariableDeclaration)
      return this.#emitter.printNode(declaration).replace(/^export (declare )?/, "");
    return `const ${symbol.name}: ${this.#checker.typeToString(this.#checker.getTypeOfSymbol(symbol), declaration, printFlags | NodeBuilderFlags.MultilineObjectLiterals)};`;
  }
}

const isOurs = ({ declarations }) => declarations[0].path.toLowerCase().startsWith(`${root}src/`.toLowerCase());

/** TypeScript indents by four; this house by two. */
const fence = (code) =>
  `\`\`\`ts\n${code.replaceAll(/^(?: {4})+/gm, (spaces) => spaces.slice(spaces.length / 2))}\n\`\`\``;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    const findings = checkReference();
    for (const finding of findings) console.error(finding);
    process.exit(findings.length === 0 ? 0 : 1);
  }
  writeFileSync(target, readReference().text);
}
