import { readdirSync } from 'node:fs';

/** Keys of the templates that come with the product: the names of their files. */
export const builtInKeys = readdirSync(new URL('../../service-templates/', import.meta.url))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''))
  .toSorted();
