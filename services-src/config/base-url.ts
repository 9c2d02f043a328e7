/** What the gateway calls itself: BASE_URL, else made from HOST and PORT (any address is reached by loopback). */
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
