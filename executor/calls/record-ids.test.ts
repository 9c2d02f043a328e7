import { randomUUIDv7 } from 'node:crypto';

import { expect, test } from 'vitest';

import { id } from '#contracts/vocabulary';
import { createRecordIds } from './record-ids.ts';

const [key, otherKey] = ['x'.repeat(43), 'y'.repeat(43)];

test('the record of a read has the same id at every executor', () => {
  const auditId = randomUUIDv7();

  expect(createRecordIds(key).ofRead(auditId)).toBe(createRecordIds(key).ofRead(auditId));
});

test('the records of two reads have different ids', () => {
  const recordIds = createRecordIds(key);

  expect(recordIds.ofRead(randomUUIDv7())).not.toBe(recordIds.ofRead(randomUUIDv7()));
});

test('the id of a record cannot be predicted without the key', () => {
  const auditId = randomUUIDv7();

  expect(createRecordIds(key).ofRead(auditId)).not.toBe(createRecordIds(otherKey).ofRead(auditId));
});

test('the id of a record is a UUID with the time of the call', () => {
  const auditId = randomUUIDv7();
  const recordId = createRecordIds(key).ofRead(auditId);

  expect(id.parse(recordId).slice(0, 15)).toBe(auditId.slice(0, 15));
});
