/** `npm run demo`: plays the whole story on real parts, one line per step, and exits 0 only if every step held. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { launch } from '../../launch.ts';
import { startGithubMock } from '../story/github-mock.ts';
import { playStory } from '../story/play.ts';
import { startReceiver } from '../story/receiver.ts';

await orExit(async () => {
  let step = 0;
  const say = (line: string) =>
    process.stdout.write(`${String((step += 1)).padStart(2)}. ${line}\n`);

  await using running = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-demo-'));
  running.defer(() => rm(dataDir, { recursive: true, force: true }));
  const github = running.use(await startGithubMock());
  say(`GitHub's own OpenAPI document is mocked by Prism at ${github.url}`);
  const receiver = running.use(await startReceiver());

  const upstreams = [github.url, receiver.url].map((url) => new URL(url).host);
  const gateway = running.use(
    await launch(
      { LOG_LEVEL: 'warn', ...process.env, PORT: '0', EGRESS_ALLOW: upstreams.join(',') },
      { dataDir },
    ),
  );
  say(`the gateway is up at ${gateway.url}: Postgres, NATS and all components`);
  if (gateway.firstSignInUrl === null) throw new Error('a fresh installation gave no sign-in link');
  await playStory({ signInUrl: gateway.firstSignInUrl, github, receiver, say });
  say('everything held');
});
