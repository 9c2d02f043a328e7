import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Environment } from '#config';
import { startBacking, startComponents } from '../../launch.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import type { Caller } from './http.ts';

export interface PlayedStory extends AsyncDisposable {
  readonly user: Caller;
  /** The agent of the story. */
  readonly bot: Caller;
  readonly steps: readonly string[];
}

/**
 * Plays the product's main use case on the Postgres and NATS servers that the environment names. If
 * the environment does not name a server, an embedded one is used. First migrates the servers and
 * starts all components, which call each other over NATS. The components run until the result is
 * disposed.
 */
export async function playStoryOnServers(servers: Environment): Promise<PlayedStory> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-story-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const github = startup.use(await startGithubMock());
  const receiver = startup.use(await startReceiver());
  const environment = {
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
    PORT: String(await lastingPort()),
    RATE_IDENTITY_PER_MINUTE: '0',
    RATE_USER_PER_MINUTE: '0',
    ...servers,
    EGRESS_ALLOW: [github.url, receiver.url].map((url) => new URL(url).host).join(),
  };
  const backing = startup.use(await startBacking(environment, { dataDir, durable: false }));
  const product = startup.use(await startComponents(backing.environment, { areCallsLocal: false }));
  const steps: string[] = [];
  const { user, bot } = await playStory({
    signInUrl: product.firstSignInUrl ?? '',
    github,
    receiver,
    say: (line) => steps.push(line),
  });
  const running = startup.move();
  return { user, bot, steps, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
