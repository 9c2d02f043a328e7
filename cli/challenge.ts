/** What a `WWW-Authenticate: Bearer …` says (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly error?: string;
  readonly scope?: string;
  readonly resource_metadata?: string;
}

const parameter = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** Empty if there is none. */
export function parseChallenge(header: string | null | undefined): Challenge {
  const bearer = /(?:^|,\s*)bearer(?:\s+(.*))?$/is.exec(header ?? '')?.[1] ?? '';
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of bearer.matchAll(parameter)) {
    parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '');
  }
  const pick = (name: keyof Challenge) =>
    parameters.has(name) ? { [name]: parameters.get(name) } : {};
  return { ...pick('error'), ...pick('scope'), ...pick('resource_metadata') };
}
