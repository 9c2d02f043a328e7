/**
 * `npm run release:check`: prints what still prevents this commit from becoming a release
 * (CONTRIBUTING.md, To make a release).
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { findProblems } from './release-problems.ts';

const runCommand = promisify(execFile);
const readRootFile = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8');
const runGit = async (...args: string[]) => (await runCommand('git', args)).stdout.trim();

const readVersion = async (name: string) => JSON.parse(await readRootFile(name)).version as string;
/** Finds the version that follows a word such as `appVersion: ` in a file. */
const findVersion = async (name: string, word: string) =>
  new RegExp(`^ *${word}(\\S+)$`, 'm').exec(await readRootFile(name))?.[1];

const tags = (await runGit('tag', '--list', '--sort=-version:refname')).split('\n');
const lastTag = tags.find((tag) => /^v\d/.test(tag));
const problems = findProblems({
  version: await readVersion('package.json'),
  otherVersions: {
    'package-lock.json': await readVersion('package-lock.json'),
    'cli/npm/package.json': await readVersion('cli/npm/package.json'),
    'docker-compose.yml': await findVersion('docker-compose.yml', 'image: agent-action-gateway:'),
    'deploy/helm/Chart.yaml': await findVersion('deploy/helm/Chart.yaml', 'appVersion: '),
    'docs/kubernetes.md': await findVersion(
      'docs/kubernetes.md',
      'docker push \\S+/agent-action-gateway:',
    ),
  },
  changelog: await readRootFile('CHANGELOG.md'),
  changedFiles: await runGit('status', '--porcelain'),
  tags,
  lastRelease:
    lastTag === undefined
      ? undefined
      : {
          tag: lastTag,
          commit: await runGit('rev-parse', `${lastTag}^{commit}`),
        },
  baseline: await readRootFile('test/skew/baseline').catch(() => ''),
});
for (const problem of problems) console.log(problem);
if (problems.length === 0) console.log('This commit can be tagged, once npm run test:all passes.');
process.exitCode = problems.length === 0 ? 0 : 1;
