import { expect, test } from 'vitest';

import { findProblems } from './release-problems.ts';

const candidate = {
  version: '0.2.0',
  otherVersions: { 'package-lock.json': '0.2.0', 'cli/npm/package.json': '0.2.0' },
  changelog: '# Changelog\n\n## 0.2.0 (2026-12-01)\n\nMore.\n\n## 0.1.0 (2026-11-24)\n',
  changedFiles: '',
  tags: ['v0.1.0'],
  lastRelease: { tag: 'v0.1.0', commit: 'c0ffee' },
  baseline: 'c0ffee\n',
};

test('a commit can become a release if all files that contain a version contain the new one', () => {
  expect(findProblems(candidate)).toEqual([]);
});

test('the first release needs no baseline', () => {
  expect(findProblems({ ...candidate, tags: [], lastRelease: undefined, baseline: '' })).toEqual(
    [],
  );
});

test.for([
  [{ version: '0.0.0', otherVersions: {} }, 'the version 0.0.0 is none of a release'],
  [{ otherVersions: { 'package-lock.json': '0.1.0' } }, 'package-lock.json has the version 0.1.0'],
  [{ otherVersions: { 'docker-compose.yml': undefined } }, 'docker-compose.yml has the version'],
  [{ changelog: '# Changelog\n\n## Unreleased\n' }, 'CHANGELOG.md begins with "## Unreleased"'],
  [{ changedFiles: ' M README.md' }, 'not committed'],
  [{ tags: ['v0.2.0'] }, 'The tag v0.2.0 is there already'],
  [{ baseline: '' }, 'test/skew/baseline is not the commit of v0.1.0'],
] as const)('a commit with %o cannot become a release', ([change, problem]) => {
  expect(findProblems({ ...candidate, ...change }).join('\n')).toContain(problem);
});
