import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';

import { AppError } from '#errors';
import { programEnv } from '../../test/support/program-env.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';

const codeOf = (error: unknown) => AppError.from(error).code;

test('a non-read leaves exactly one request and an unknown outcome when the process is killed during the call', async () => {
  await using worldOfOneReplica = await createWorld();
  const value = canary();
  const body = { name: 'killed', value, allowed_hosts: [worldOfOneReplica.upstream.host] };
  const { id } = await worldOfOneReplica.gateway.createSecret(
    { principal: worldOfOneReplica.admin, body },
    testDeadline(),
  );
  const call = worldOfOneReplica.actionCall('create', { title: 'killed' });
  const dispatchId = uuidv7();
  // Signs a new permit for each attempt, because a permit lives for only five seconds.
  const attemptCall = () => {
    const permit = worldOfOneReplica.permitOf(call, {
      dispatchId,
      secrets: [{ id, name: 'killed' }],
    });
    return worldOfOneReplica.gateway.execute({ permit, call, options, context }, testDeadline());
  };
  await worldOfOneReplica.stopExecutor();
  await using child = startProcess(worldOfOneReplica.variables);
  await expect.poll(child.output).toContain('started');
  worldOfOneReplica.upstream.answer(() => child.kill());
  const lostAttempt = attemptCall().catch(codeOf);
  await child.exited;

  await using _successor = await worldOfOneReplica.start();
  await worldOfOneReplica.sql`update executor.dispatch set lease_until = now()`;
  await expect(attemptCall()).rejects.toMatchObject({ code: 'outcome_unknown' });
  expect(worldOfOneReplica.upstream.hits).toHaveLength(1);
  expect(worldOfOneReplica.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
  expect(child.output()).not.toContain('CANARY');
  expect(await lostAttempt).toBe('unavailable');
});

/**
 * Starts the executor as its own process and collects its output. Disposing the result kills the
 * process if it still runs.
 */
function startProcess(variables: Record<string, string>) {
  const child = spawn(process.execPath, ['executor/main.ts'], {
    env: { ...programEnv, ...variables, LOG_LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => void (output += chunk));
  child.stderr.on('data', (chunk) => void (output += chunk));
  const exited = once(child, 'exit');
  return {
    exited,
    output: () => output,
    kill: () => void child.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
