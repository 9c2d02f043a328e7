import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { partOf, startPrismMock } from '../support/prism.ts';
import type { PrismMock, PublishedDocument } from '../support/prism.ts';

export type { UpstreamHit } from '../support/prism.ts';
export type GithubMock = PrismMock;

const { resolve } = createRequire(import.meta.url);
const keptPaths = /^\/repos\/\{owner\}\/\{repo\}\/(issues|pulls|contents)/;

/**
 * A mock of GitHub's API for issues, pull requests and contents. It is made from GitHub's own
 * OpenAPI document.
 */
export async function startGithubMock(): Promise<GithubMock> {
  const folder = dirname(resolve('@octokit/openapi/package.json'));
  const text = await readFile(join(folder, 'generated/api.github.com.json'), 'utf8');
  const document = JSON.parse(text) as PublishedDocument;
  return startPrismMock(partOf(document, (path) => keptPaths.test(path)));
}
