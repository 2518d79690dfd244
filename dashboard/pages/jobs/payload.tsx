import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { exactText } from "../../../src/db/exact-json.js";
import { request } from "../../api.js";
import { bytes } from "../../format.js";
import { Button } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Problem } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { Choice } from "../../parts/tabs.js";
import { toast } from "../../parts/toast.js";
import type { Job } from "../../wire.js";
import { hexDump, looksLike } from "./bytes.js";
import { isTold } from "./told.js";

/** So much of the bytes is fetched to be looked at; all of it only to be saved, or to be seen as a picture. */
const pieceBytes = 16_384;
const pictureBytes = 10_000_000;

/** What a job carries: its input as a tree, its bytes as what they are. */
export function Payload({ job }: { job: Job }): JSX.Element {
  const [asText, setAsText] = useState<"tree" | "text">("tree");
  const text = exactText(job.input, undefined, 2) ?? "null";
  return (
    <>
      <Panel
        title="Input"
        note={bytes(text.length)}
        actions={
          <>
            <Choice
              label="How the input is shown"
              value={asText}
              onChange={setAsText}
              of={[
                { value: "tree", title: "Tree" },
                { value: "text", title: "JSON" },
              ]}
            />
            <Copy text={text} label="Copy the input" />
          </>
        }
      >
        {asText === "tree" ? (
          <JsonTree value={job.input ?? null} />
        ) : (
          <pre class="block" tabIndex={0}>
            {text.slice(0, 100_000)}
            {text.length > 100_000 && "\n…"}
          </pre>
        )}
      </Panel>
      {isTold(job.payloadSize) && <Bytes job={job} size={job.payloadSize ?? 0} />}
    </>
  );
}

function Bytes({ job, size }: { job: Job; size: number }): JSX.Element {
  const [offset, setOffset] = useState(0);
  const [piece, setPiece] = useState<Uint8Array>();
  const [error, setError] = useState<unknown>();
  const [view, setView] = useState<"text" | "hex" | "picture">();
  const kind = piece && (view ?? looksLike(piece, job.contentType));

  useEffect(() => {
    const ending = new AbortController();
    const length = Math.min(pieceBytes, size - offset);
    request("GET", `jobs/${job.id}/payload`, { query: { part: "payload", offset, length }, signal: ending.signal })
      .then(async (response) => setPiece(new Uint8Array(await response.arrayBuffer())))
      .catch((problem) => ending.signal.aborted || setError(problem));
    return () => ending.abort();
  }, [job.id, offset]);

  return (
    <Panel
      title="Bytes"
      note={`${bytes(size)}${job.contentType ? `, ${job.contentType}` : ""}`}
      actions={
        <>
          <Choice
            label="How the bytes are shown"
            value={kind ?? "hex"}
            onChange={setView}
            of={[
              { value: "text", title: "Text" },
              { value: "hex", title: "Hex" },
              { value: "picture", title: "Picture" },
            ]}
          />
          <Button small onClick={() => void download(job)}>
            Download
          </Button>
        </>
      }
    >
      {error !== undefined && <Problem error={error} />}
      {piece && kind === "hex" && (
        <pre class="hex" tabIndex={0}>
          {hexDump(piece, offset)}
        </pre>
      )}
      {piece && kind === "text" && (
        <pre class="block" tabIndex={0}>
          {new TextDecoder().decode(piece)}
        </pre>
      )}
      {kind === "picture" && <Picture job={job} size={size} />}
      {kind !== "picture" && size > pieceBytes && (
        <div class="filters">
          <Button small disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pieceBytes))}>
            Before
          </Button>
          <span class="muted">
            {bytes(offset)} to {bytes(Math.min(size, offset + pieceBytes))} of {bytes(size)}
          </span>
          <Button small disabled={offset + pieceBytes >= size} onClick={() => setOffset(offset + pieceBytes)}>
            After
          </Button>
        </div>
      )}
    </Panel>
  );
}

/** An `<img>` runs no scripts, whatever is in the file. */
function Picture({ job, size }: { job: Job; size: number }): JSX.Element {
  const [url, setUrl] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (size > pictureBytes) return;
    let made: string | undefined;
    let left = false;
    whole(job)
      .then((blob) => {
        if (!left) setUrl((made = URL.createObjectURL(blob)));
      })
      .catch(setError);
    return () => {
      left = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [job.id]);
  if (size > pictureBytes) return <p class="muted">Too large to be shown; download it.</p>;
  if (error !== undefined) return <Problem error={error} />;
  return (
    <div class="picture">
      {url && (
        <img
          src={url}
          alt={`The payload of job ${job.id}`}
          onError={() => setError(new Error("the browser cannot show it as a picture"))}
        />
      )}
    </div>
  );
}

async function whole(job: Job): Promise<Blob> {
  const blob = await (await request("GET", `jobs/${job.id}/payload`, { query: { part: "payload" } })).blob();
  return new Blob([blob], {
    type: job.contentType?.startsWith("image/") ? job.contentType : "application/octet-stream",
  });
}

async function download(job: Job): Promise<void> {
  try {
    const url = URL.createObjectURL(await whole(job));
    const link = document.createElement("a");
    link.href = url;
    link.download = `job-${job.id}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (error) {
    toast(`Could not be downloaded: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
  }
}
