/**
 * A host as it stands in permission keys and host lists (decisions: Keys):
 * lower-case A-label, no trailing dot, the port only when it is not the
 * scheme's own. `URL` does the lower-casing and the IDNA mapping.
 */
export function hostOf(url: URL): string {
  const name = url.hostname.replace(/\.$/, '');
  return url.port === '' ? name : `${name}:${url.port}`;
}

/** The same for a host someone typed, with or without a port; undefined when it is none. */
export function normaliseHost(text: string): string | undefined {
  if (text.length > 262 || !/^[^\s/?#@\\%]+$/.test(text)) return undefined;
  const address = `https://${text}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.pathname === '/' && url.hostname !== '' ? hostOf(url) : undefined;
}
