/** The one way to the server: `/api/v1`, found beside the page so that any prefix does. */
import { signal } from "@preact/signals";
import { exactText, parseExact } from "../src/db/exact-json.js";

export const base = new URL("../api/v1/", location.href.replace(/[#?].*$/s, ""));
const tokenKey = "millrace.token";
/** What an application that has mounted the dashboard says to those it does not know. */
const noUser = "MR114";

/** The server wants a token, or has refused the one it got; then why. */
export const signInReason = signal<string | null>(null);
/** The application around the page has signed its user out. */
export const isSignedOut = signal(false);
/** Grows with every change made from this page: what is shown is asked for again. */
export const changes = signal(0);

/** What the server refused, in its own words. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    message: string,
    readonly status: number,
    readonly code?: string,
    readonly remedy?: string,
    readonly requestId?: string,
  ) {
    super(message);
  }
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Ask for a record. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await request("GET", path, { query, ...(signal && { signal }) });
  return parseExact(await response.text()) as T;
}

/** Change something. */
export async function send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  const response = await request(method, path, { body: body ?? {} });
  const text = await response.text();
  return (text === "" ? undefined : parseExact(text)) as T;
}

/** A raw answer: the live stream, a payload. */
export async function request(
  method: string,
  path: string,
  {
    query = {},
    body,
    signal,
    headers,
  }: { query?: Query; body?: unknown; signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<Response> {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  const token = readToken();
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      cache: "no-store",
      credentials: "same-origin", // where an application has mounted the page, its cookies say who asks
      headers: {
        ...headers,
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: exactText(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(
      "the server cannot be reached",
      0,
      undefined,
      "see whether `millrace serve` still runs, and whether this machine has a network",
    );
  }
  if (response.ok) return response;
  const refused = await problem(response);
  if (refused.code === noUser) isSignedOut.value = true;
  else if (response.status === 401) signInReason.value = token ? refused.message : "";
  throw refused;
}

/** A name as a part of a path. */
export const segment = (name: string): string => encodeURIComponent(name).replaceAll(".", "%2E");

async function problem(response: Response): Promise<ApiError> {
  const told = (await response.json().catch(() => ({}))) as Partial<
    Record<"detail" | "title" | "code" | "remedy" | "requestId", string>
  >;
  const id = told.requestId ?? response.headers.get("x-request-id") ?? undefined;
  const message = told.detail ?? told.title ?? `the server answered ${response.status}`;
  return new ApiError(message, response.status, told.code, told.remedy, id);
}

export function readToken(): string | null {
  try {
    return sessionStorage.getItem(tokenKey);
  } catch {
    return memoryToken;
  }
}

/** Where storage is forbidden the token lives as long as the page. */
let memoryToken: string | null = null;

export function keepToken(token: string | null): void {
  memoryToken = token;
  try {
    if (token === null) sessionStorage.removeItem(tokenKey);
    else sessionStorage.setItem(tokenKey, token);
  } catch {
    // Then it is in memory only.
  }
}
