/**
 * Whether `Accept` rates `text/html` above JSON (RFC 9110 §12.5.1), as browsers do when a person
 * opens an address. A wildcard counts for neither, because many programs send only a wildcard.
 */
export function doesPreferHtml(accept: string | undefined): boolean {
  const qualities = new Map<string, number>();
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    qualities.set(type, qualityOf(parameters));
  }
  return (qualities.get('text/html') ?? 0) > (qualities.get('application/json') ?? 0);
}

/**
 * Returns 1 if there is no quality. A malformed quality counts as 0, so that the answer stays JSON.
 */
function qualityOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (quality === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(quality) ? Number(quality) : 0;
}
