import { readFileSync } from 'node:fs';

/** The version in the package.json of the package that contains this program. */
export function readVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
