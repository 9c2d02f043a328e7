import { expect, test } from 'vitest';

import { createImportSlots } from './import-slots.ts';

const refused = { code: 'unavailable' };

test('one user imports two documents at a time, all users together four', async () => {
  const slots = createImportSlots();
  const { promise: end, resolve: finish } = Promise.withResolvers<void>();
  const work = () => end;
  const running = [slots.run('ann', work), slots.run('ann', work)];
  await expect(slots.run('ann', work)).rejects.toMatchObject(refused);
  running.push(slots.run('bob', work), slots.run('cai', work));
  await expect(slots.run('dan', work)).rejects.toMatchObject(refused);
  finish();
  await Promise.all(running);
  expect(await slots.run('ann', async () => 'imported')).toBe('imported');
});
