import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { gzipMembersIn } from '../../support/canaries.ts';

/** A secret as it may be found: by its own name, encoded, or inside something that was encoded. */
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
  // Base64 of a longer text shows what is in it in one of three spellings, by its position.
  for (const before of ['', 'a', 'ab']) {
    const whole = Buffer.concat([Buffer.from(before), bytes]).toString('base64');
    const inner = whole.slice(before.length === 0 ? 0 : 4, -4).replaceAll('=', '');
    forms.set(`base64+${before.length}`, inner);
    forms.set(`base64url+${before.length}`, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return new Map([...forms].map(([name, text]) => [name, Buffer.from(text)]));
}

/** Which forms of which secrets are in a sink; gzip members in it are opened first. */
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
        const near = layer.subarray(Math.max(0, at - 120), at).toString('latin1');
        return [{ secret: name, form, near: near.replaceAll(/[^\x20-\x7e]/g, '.') }];
      }),
    ),
  );
}

/** All files below a folder, by their path. */
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
