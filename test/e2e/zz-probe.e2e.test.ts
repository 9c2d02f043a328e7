import { test } from 'vitest';
import { startWorld, createAgent, created } from './support/world.ts';
test('probe', async () => {
  await using world = await startWorld();
  const { admin, url, upstream } = world;
  const bot = await createAgent(url, admin, 'bot');
  created(
    await admin.post('/v1/secrets', {
      name: 'github_token',
      value: 'CANARY-x',
      tier: 'org',
      allowed_hosts: [upstream.host],
    }),
  );
  created(
    await admin.post('/v1/services', { template: 'github', tier: 'org', base_url: upstream.url }),
  );
  const r = await bot.post('/v1/actions/call', {
    service: 'github',
    action: 'create_issue',
    params: { repository: 'acme/site', title: 't' },
  });
  console.log(r.status, JSON.stringify(r.body, null, 1));
  const a = await admin.post(`/v1/approvals/${r.body.approval_id}/resolve`, {
    resolution: 'allow',
  });
  console.log(a.status, JSON.stringify(a.body, null, 1));
  for (let i = 0; i < 5; i++) {
    await new Promise((r) => setTimeout(r, 400));
    const b = await bot.post('/v1/actions/call', { approval_id: r.body.approval_id });
    console.log(b.status, JSON.stringify(b.body));
  }
  console.log(await world.tables.query('select * from approvals.execution'));
  console.log(upstream.hits);
});
