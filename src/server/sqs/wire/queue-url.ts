/** The queue a URL or a path names. */
export interface QueueAddress {
  readonly account?: string;
  readonly name: string;
}

/**
 * The queue a `QueueUrl` names, if any. Like AWS this reads only the path: any host, any scheme, a slash at the end,
 * whatever stands before the account; and a bare queue name is one, too.
 */
export function queueOfUrl(url: string): QueueAddress | undefined {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "");
  const [name, account] = segmentsOf(path).reverse();
  return name === undefined ? undefined : account === undefined ? { name } : { account, name };
}

/** The queue a request path names, if it has the form `/{account}/{queue}`; `/` and `/{account}/` name none. */
export function queueOfPath(path: string): Required<QueueAddress> | undefined {
  const [account, name, ...more] = segmentsOf(path);
  return account !== undefined && name !== undefined && more.length === 0 ? { account, name } : undefined;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}
