/** A text for each role that says what a person with this role may do. */
export const roleWords = {
  admin: 'Admin: may change everything of the organisation',
  member: 'Member: has agents, services and credentials, and changes only those',
  auditor: 'Auditor: may read everything of the organisation and change nothing',
} as const;

export type Role = keyof typeof roleWords;
export const roles = ['member', 'admin', 'auditor'] as const satisfies readonly Role[];
