const charactersMax = 100;
const fallbackName = 'download';
/** Names that Windows reserves for devices, with any extension. */
const deviceNamePattern = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * A safe file name. It is made from the name in Content-Disposition (RFC 6266) if there is one, and
 * otherwise from the last segment of the URL. It consists of letters, digits, `.`, `_` and `-`, and
 * does not begin with a dot.
 */
export function safeFileNameOf({
  disposition,
  url,
}: {
  disposition: string | undefined;
  url: string;
}): string {
  const namedInHeader =
    disposition === undefined ? undefined : nameInDisposition(disposition.slice(0, 2_000));
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  for (const candidate of [namedInHeader, decodeName(last)]) {
    const safe = toSafe(candidate ?? '');
    if (safe !== '') return safe;
  }
  return fallbackName;
}

function nameInDisposition(disposition: string): string | undefined {
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition)?.[1];
  if (extended !== undefined) return decodeName(extended);
  const plainMatch = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition);
  return plainMatch?.[1]?.replaceAll(/\\(.)/g, '$1') ?? plainMatch?.[2];
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The name is not valid percent-encoded UTF-8, so it is used without decoding.
  }
}

function toSafe(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? '';
  const sanitizedName = base
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._-]+/, '')
    .replace(/[._]+$/, '');
  const safe = deviceNamePattern.test(sanitizedName) ? `_${sanitizedName}` : sanitizedName;
  if (safe.length <= charactersMax) return safe;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(safe)?.[0] ?? '';
  return safe.slice(0, charactersMax - extension.length) + extension;
}
