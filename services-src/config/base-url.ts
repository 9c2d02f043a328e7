/**
 * The gateway's public URL: BASE_URL, or otherwise one made from HOST and PORT, with the loopback
 * address in place of "any address".
 */
export function deriveBaseUrl({
  BASE_URL,
  HOST,
  PORT,
}: {
  readonly BASE_URL?: string | undefined;
  readonly HOST: string;
  readonly PORT: number;
}): string {
  if (BASE_URL !== undefined) return BASE_URL;
  const isAnyAddress = HOST === '0.0.0.0' || HOST === '::';
  const host = isAnyAddress ? '127.0.0.1' : HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`;
}
