/**
 * `npm run demo` plays the product's main use case with real components. It prints one line per
 * step, and exits with 0 only if every step succeeds. With `--stay`, the gateway then keeps running
 * until Ctrl-C, with an agent that keeps asking for calls.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseArgs } from 'node:util';

import { orExit, untilStopped } from '#process';
import { launch } from '../../launch.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';
import { keepAsking } from './keep-asking.ts';

await orExit(async () => {
  const { values } = parseArgs({ options: { stay: { type: 'boolean', default: false } } });
  let stepCount = 0;
  const printLine = (line: string) =>
    process.stdout.write(`${String((stepCount += 1)).padStart(2)}. ${line}\n`);

  await using running = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-demo-'));
  running.defer(() => rm(dataDir, { recursive: true, force: true }));
  const github = running.use(await startGithubMock());
  printLine(`GitHub's own OpenAPI document is mocked by Prism at ${github.url}`);
  const receiver = running.use(await startReceiver());

  const upstreamHosts = [github.url, receiver.url].map((url) => new URL(url).host);
  const gateway = running.use(
    await launch(
      { LOG_LEVEL: 'warn', ...process.env, PORT: '0', EGRESS_ALLOW: upstreamHosts.join(',') },
      { dataDir },
    ),
  );
  printLine(`the gateway is up at ${gateway.url}: Postgres, NATS and all components`);
  if (gateway.firstSignInUrl === null) throw new Error('a fresh installation gave no sign-in link');
  const { user, userId, bot } = await playStory({
    signInUrl: gateway.firstSignInUrl,
    github,
    receiver,
    say: printLine,
  });
  printLine('everything held');
  if (!values.stay) return;

  const link = await user.post(`/v1/users/${userId}/sign-in-links`);
  process.stdout.write(
    `\nThe agent keeps asking for things. Decide in the browser, signed in by this link (Ctrl-C ends everything):\n${link.body.url}\n`,
  );
  await keepAsking(bot, untilStopped());
});
