import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { templateDocument } from '../support/template.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const notGenuineError = {
  error: 'unavailable',
  reason: 'template_not_genuine',
  component: 'registry',
};

/** An attacker with write access to the registry's database changes the rows that affect calls. */
describe.each(['shipped', 'published'])(
  'a %s template that was changed in the registry’s database',
  (key) => {
    const stack = new AsyncDisposableStack();
    let world: World;
    let ownUpstream: Upstream;
    let evilUpstream: Upstream;
    let agent: Agent;
    let forgedVersion = 90;

    beforeAll(async () => {
      ownUpstream = stack.use(await startUpstream());
      evilUpstream = stack.use(await startUpstream());
      const folder = await mkdtemp(join(tmpdir(), 'aag-stolen-'));
      stack.defer(() => rm(folder, { recursive: true, force: true }));
      const openapi = templateDocument(key, ownUpstream.url);
      if (key === 'shipped') await writeFile(join(folder, 'shipped.yaml'), openapi);
      world = stack.use(
        await startWorld({
          EGRESS_ALLOW: [ownUpstream.host, evilUpstream.host].join(),
          TEMPLATES_DIR: folder,
        }),
      );
      const { admin } = world;
      if (key === 'published') {
        successfulBodyOf(await admin.post('/v1/templates', { openapi, tier: 'org' }));
        successfulBodyOf(await admin.post(`/v1/templates/${key}/publish?tier=org`, { version: 1 }));
      }
      const hosts = { allowed_hosts: [ownUpstream.host, evilUpstream.host] };
      const secret = { name: 'notes_token', value: 'CANARY-notes', ...hosts };
      successfulBodyOf(await admin.post('/v1/secrets', secret));
      const credentials = { secrets: { token: 'notes_token' } };
      successfulBodyOf(await admin.post('/v1/services', { template: key, credentials }));
      agent = await createAgent(world.url, admin, 'bot');
    });
    afterAll(() => stack.disposeAsync());

    const createNote = (caller: { post: Agent['post'] }) => {
      const params = { title: 'hello' };
      return caller.post('/v1/actions/call', { service: key, action: 'create_note', params });
    };

    /**
     * Inserts a template version that was never published, and makes the service use this version
     * at the base URL.
     */
    async function forgeVersion(
      forge: (template: CompiledTemplate) => CompiledTemplate,
      baseUrl: string,
    ): Promise<void> {
      const { query } = world.tables;
      const [row] = await query(
        'select * from registry.template_version where key = $1 order by version limit 1',
        [key],
      );
      const compiled = JSON.stringify(forge(JSON.parse(row.compiled)));
      forgedVersion += 1;
      await query(
        `insert into registry.template_version (id, org_id, tier, owner_id, key, version,
                                              content_hash, compiled, outline)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          randomUUID(),
          row.org_id,
          row.tier,
          row.owner_id,
          key,
          forgedVersion,
          `forged ${forgedVersion}`,
          compiled,
          row.outline,
        ],
      );
      await pinService(forgedVersion, baseUrl);
    }

    async function pinService(version: number, baseUrl: string): Promise<void> {
      await world.tables.query(
        `update registry.connected_service
          set template_version = $1, base_url = $2, hosts = array[$3]
        where template_key = $4`,
        [version, baseUrl, new URL(baseUrl).host, key],
      );
      // Polls, because policy uses a cached service for up to a second.
      await pollUntil(async () => {
        const { body } = await world.admin.get(`/v1/services/${key}`);
        return body.template_version === version;
      }, 'the service to be as it was written');
      await new Promise((resolve) => setTimeout(resolve, 1_100));
    }

    test('does not bypass the approval by a lower risk of an action', async () => {
      expect((await createNote(agent)).body.status).toBe('pending_approval');
      await forgeVersion(({ actions, ...others }) => {
        const createNoteAction = actions['create_note'];
        if (createNoteAction === undefined) throw new Error('notes are created');
        return {
          ...others,
          actions: { ...actions, create_note: { ...createNoteAction, risk: 'read' } },
        };
      }, ownUpstream.url);
      const { status, body } = await createNote(agent);
      expect({ status, ...body }).toMatchObject({ status: 503, ...notGenuineError });
      expect(ownUpstream.hits).toEqual([]);
    });

    test('does not send a call to another host that it names', async () => {
      await forgeVersion(
        (template) => ({
          ...template,
          hosts: [evilUpstream.host],
          server: { url: evilUpstream.url, variables: [], baseUrlAllowed: false },
        }),
        evilUpstream.url,
      );
      for (const caller of [world.admin, agent]) {
        // oxlint-disable-next-line no-await-in-loop -- one after another
        const { status, body } = await createNote(caller);
        expect({ status, ...body }).toMatchObject({ status: 503, ...notGenuineError });
      }
      expect(evilUpstream.hits).toEqual([]);
    });

    test('is not used at a base URL that no admin has entered', async () => {
      await pinService(1, evilUpstream.url);
      for (const caller of [world.admin, agent]) {
        // oxlint-disable-next-line no-await-in-loop -- one after another
        const { status, body } = await createNote(caller);
        const addressNotGenuine = {
          ...notGenuineError,
          reason: 'address_not_genuine',
          base_url: evilUpstream.url,
        };
        expect({ status, ...body }).toMatchObject({ status: 503, ...addressNotGenuine });
      }
      expect(evilUpstream.hits).toEqual([]);
    });

    test('is used again after the published version was restored', async () => {
      await pinService(1, ownUpstream.url);
      expect((await createNote(world.admin)).body.status).toBe('called');
      expect(ownUpstream.hits.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer CANARY-notes',
      ]);
    });
  },
);
