import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { gzipMembersIn } from '../../support/canaries.ts';

/**
 * The byte sequences in which a secret may appear: plain, encoded, or within a longer text that was
 * encoded as a whole.
 */
export function formsOf(secret: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(secret);
  const forms = new Map<string, string>([
    ['raw', secret],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ['URL', encodeURIComponent(secret)],
    ['form', new URLSearchParams({ '': secret }).toString().slice(1)],
  ]);
  // Base64 encodes three bytes at a time, so a secret within a longer text has one of three
  // encodings, depending on its position.
  for (const alignmentPrefix of ['', 'a', 'ab']) {
    const wholeBase64 = Buffer.concat([Buffer.from(alignmentPrefix), bytes]).toString('base64');
    const innerBase64 = wholeBase64
      .slice(alignmentPrefix.length === 0 ? 0 : 4, -4)
      .replaceAll('=', '');
    forms.set(`base64+${alignmentPrefix.length}`, innerBase64);
    forms.set(
      `base64url+${alignmentPrefix.length}`,
      innerBase64.replaceAll('+', '-').replaceAll('/', '_'),
    );
  }
  return new Map([...forms].map(([name, text]) => [name, Buffer.from(text)]));
}

/**
 * Finds which secrets a place contains, and in which encoding, including data that was compressed
 * with gzip.
 */
export function sweep(
  sink: Buffer,
  secrets: ReadonlyMap<string, string>,
): { readonly secret: string; readonly form: string; readonly near: string }[] {
  const layers = [sink, ...gzipMembersIn(sink)];
  return [...secrets].flatMap(([name, secret]) =>
    [...formsOf(secret)].flatMap(([form, bytes]) =>
      layers.flatMap((layer) => {
        const at = layer.indexOf(bytes);
        if (at < 0) return [];
        const precedingText = layer.subarray(Math.max(0, at - 120), at).toString('latin1');
        return [{ secret: name, form, near: precedingText.replaceAll(/[^\x20-\x7e]/g, '.') }];
      }),
    ),
  );
}

/** The contents of all files below a folder, by path. */
export async function filesBelow(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return [path, await readFile(path)] as const;
      }),
    ),
  );
}
