/** The parameters of a `WWW-Authenticate: Bearer …` header (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly error?: string;
  readonly scope?: string;
  readonly resource_metadata?: string;
}

const parameterPattern = /(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** Returns an empty challenge if the header has no Bearer challenge. */
export function parseChallenge(header: string | null | undefined): Challenge {
  const bearerParameters = /(?:^|,\s*)bearer(?:\s+(.*))?$/is.exec(header ?? '')?.[1] ?? '';
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of bearerParameters.matchAll(parameterPattern)) {
    parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '');
  }
  const pickParameter = (name: keyof Challenge) =>
    parameters.has(name) ? { [name]: parameters.get(name) } : {};
  return {
    ...pickParameter('error'),
    ...pickParameter('scope'),
    ...pickParameter('resource_metadata'),
  };
}
