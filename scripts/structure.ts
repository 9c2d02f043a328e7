/**
 * The step `structure` of `npm run check`: prints each fault that the rules of `structure-rules.ts`
 * find, and fails if there is one.
 */
import { globSync, readFileSync } from 'node:fs';

import { findFaults } from './structure-rules.ts';

const isOwnPath = (path: string) => !/(^|\/)(node_modules|dist|\.data|\.git)(\/|$)/.test(path);
const paths = [
  'package.json',
  ...globSync('*/**/*.{ts,tsx}', { exclude: (path) => !isOwnPath(path) }),
  ...globSync('*.ts'),
  ...globSync('*/README.md'),
];
const sources = new Map(paths.filter(isOwnPath).map((path) => [path, readFileSync(path, 'utf8')]));

const faults = findFaults(sources);
for (const fault of faults) console.error(fault);
console.log(faults.length === 0 ? `${sources.size} files follow the structure.` : '');
process.exitCode = faults.length === 0 ? 0 : 1;
