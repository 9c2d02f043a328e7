import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

test('a log line has the id of the request that is being served, and never another text in its place', () => {
  const id = '019a2b3c-0000-7000-8000-000000000001';
  const script = `
    import { createLogger, runWithRequestId } from '#telemetry';
    const logger = createLogger({ component: 'executor', level: 'info' });
    await runWithRequestId('${id}', async () => {
      await new Promise(setImmediate);
      logger.info('inside');
    });
    runWithRequestId('CANARY-not-an-id', () => logger.info('with a wrong id'));
    logger.info('outside');
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });

  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toEqual([
    expect.objectContaining({ component: 'executor', msg: 'inside', requestId: id }),
    expect.not.objectContaining({ requestId: expect.anything() as unknown }),
    expect.not.objectContaining({ requestId: expect.anything() as unknown }),
  ]);
});
