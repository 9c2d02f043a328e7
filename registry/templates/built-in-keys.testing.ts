import { readdirSync } from 'node:fs';

/** The keys of the built-in templates, taken from their file names. */
export const builtInKeys = readdirSync(new URL('../../service-templates/', import.meta.url))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''))
  .toSorted();
