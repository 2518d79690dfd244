// Makes a release: checks, tests, the tarball, the tag and its notes. `npm run release -- --dry-run` changes nothing
// and leaves out the tests. Publishing is the last line it prints, for a person who may do so.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the changelog says of a version, without its headline. Undefined when it says nothing. */
export function notesOf(changelog, version) {
  const start = changelog.search(new RegExp(`^## ${version.replaceAll(".", "\\.")}(?: .*)?$`, "m"));
  if (start < 0) return undefined;
  const [, ...lines] = changelog.slice(start).split("\n");
  const end = lines.findIndex((line) => line.startsWith("## "));
  return (
    lines
      .slice(0, end < 0 ? undefined : end)
      .join("\n")
      .trim() || undefined
  );
}

/** The changelog with the day of a release in its headline. */
export function dated(changelog, version, day) {
  return changelog.replace(`## ${version} (unreleased)`, `## ${version} (${day})`);
}

/** What stands in the way; nothing when all is well. */
export function obstacles({ version, notes, isClean, tags, repository }) {
  return [
    ...(isClean ? [] : ["there are changes that are not committed"]),
    ...(tags.includes(`v${version}`) ? [`v${version} is tagged already: raise the version in package.json`] : []),
    ...(notes === undefined ? [`CHANGELOG.md has no part "## ${version}"`] : []),
    ...(repository === undefined ? ["package.json names no repository: set it to the public home of the project"] : []),
  ];
}

function release(isDry) {
  const run = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: "utf8" });
  const { version, repository } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const changelogFile = path.join(root, "CHANGELOG.md");
  const changelog = readFileSync(changelogFile, "utf8");
  const notes = notesOf(changelog, version);
  const found = obstacles({
    version,
    notes,
    repository,
    isClean: run("git", "status", "--porcelain") === "",
    tags: run("git", "tag", "--list").split("\n"),
  });
  for (const obstacle of found) console.log(`! ${obstacle}`);
  if (found.length > 0 && !isDry) return 1;

  console.log(isDry ? "checks (a real release runs all tests)" : "checks and tests");
  for (const script of [isDry ? "check" : "test", "build"]) {
    const { status } = spawnSync("npm", ["run", "--silent", script], { cwd: root, stdio: "inherit" });
    if (status !== 0) return 1; // it has said why
  }
  if (isDry) {
    const folder = mkdtempSync(path.join(tmpdir(), "millrace-release-"));
    describeTarball(run, folder);
    rmSync(folder, { recursive: true, force: true });
  } else {
    writeFileSync(changelogFile, dated(changelog, version, new Date().toISOString().slice(0, 10)));
    run("git", "commit", "--quiet", "--all", "--message", `Release ${version}`);
    mkdirSync(path.join(root, "release"), { recursive: true });
    const tarball = describeTarball(run, path.join(root, "release"));
    run("git", "tag", "--annotate", `v${version}`, "--cleanup=verbatim", "--message", `${version}\n\n${notes}`);
    console.log(`publish with: git push --follow-tags && npm publish release/${tarball}`);
  }
  console.log(`tag v${version}, with these notes:\n\n${notes ?? ""}`);
  return isDry && notes === undefined ? 1 : 0;
}

function describeTarball(run, folder) {
  const [packed] = JSON.parse(run("npm", "pack", "--json", "--silent", "--pack-destination", folder));
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(
    `${packed.filename}: ${packed.files.length} files, ${megabytes(packed.size)}, unpacked ${megabytes(packed.unpackedSize)}`,
  );
  return packed.filename;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(release(process.argv.includes("--dry-run")));
