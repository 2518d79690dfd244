/**
 * Text without the passwords of the URLs in it. Everything a person reads goes through here; what jobs carry, as JSON,
 * does not.
 */
export function redact(text: string): string {
  return text
    .replaceAll(/([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):[^\s"'<>]*@/gi, "$1:***@")
    .replaceAll(/([?&](?:ssl)?password=)[^&\s"'<>]*/gi, "$1***");
}

/** A database's URL for people: who, where and which, nothing else. */
export function displayUrl(url: string): string {
  if (!URL.canParse(url)) return "the given database";
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}
