const charactersMax = 100;
const fallback = 'download';
/** Names that mean a device on Windows, whatever follows the first dot. */
const device = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * A name that is safe to save a file under, from what the upstream calls it (Content-Disposition,
 * RFC 6266) or else from the last segment of its URL: letters, digits, `.`, `_` and `-`, not
 * beginning with a dot.
 */
export function safeFileName({
  disposition,
  url,
}: {
  disposition: string | undefined;
  url: string;
}): string {
  const named =
    disposition === undefined ? undefined : dispositionName(disposition.slice(0, 2_000));
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  for (const candidate of [named, decode(last)]) {
    const safe = toSafe(candidate ?? '');
    if (safe !== '') return safe;
  }
  return fallback;
}

function dispositionName(disposition: string): string | undefined {
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition)?.[1];
  if (extended !== undefined) return decode(extended);
  const plain = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition);
  return plain?.[1]?.replaceAll(/\\(.)/g, '$1') ?? plain?.[2];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: taken as it stands.
  }
}

function toSafe(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? '';
  const plain = base
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._-]+/, '')
    .replace(/[._]+$/, '');
  const safe = device.test(plain) ? `_${plain}` : plain;
  if (safe.length <= charactersMax) return safe;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(safe)?.[0] ?? '';
  return safe.slice(0, charactersMax - extension.length) + extension;
}
