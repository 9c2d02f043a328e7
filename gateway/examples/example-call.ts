/**
 * The ids in the examples of the OpenAPI document. The same thing has the same id in all examples.
 */
export const exampleIds = {
  org: '01990000-0000-7000-8000-000000000001',
  user: '01990000-0000-7000-8000-000000000002',
  agent: '01990000-0000-7000-8000-000000000003',
  service: '01990000-0000-7000-8000-000000000004',
  approval: '01990000-0000-7000-8000-000000000005',
  audit: '01990000-0000-7000-8000-000000000006',
  other: '01990000-0000-7000-8000-00000000000a',
} as const;

export const exampleTimes = {
  created: '2026-01-05T09:00:00.000Z',
  used: '2026-01-06T14:30:00.000Z',
  expires: '2026-02-05T09:00:00.000Z',
} as const;

/** The call that all examples are about. */
export const exampleCall = {
  service: 'github',
  action: 'create_issue',
  params: { repository: 'acme/site', title: 'The contact form loses its text' },
};
export const exampleKey = 'github:create_issue:acme/site';
