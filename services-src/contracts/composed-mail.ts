import { z } from 'zod';

/**
 * The properties of a body that make up a composed message
 * (docs/writing-templates.md#composed-mail).
 */
export const mailFields = [
  'from',
  'to',
  'cc',
  'bcc',
  'reply_to',
  'subject',
  'text',
  'html',
  'in_reply_to',
  'references',
  'attachments',
] as const;
export type MailField = (typeof mailFields)[number];

const fieldNames: ReadonlySet<string> = new Set(mailFields);

export function isMailField(name: string): name is MailField {
  return fieldNames.has(name);
}

export const mailLimits = {
  /** The addresses of to, cc and bcc together. */
  recipients: 100,
  references: 50,
  attachments: 20,
} as const;

/** How the executor composes the body of an action from the mail fields among its params. */
export const compiledCompose = z.strictObject({
  format: z.literal('rfc822'),
  /**
   * The member of the body that holds the composed message, by the names that lead to it. Other
   * members that the caller gives for the body are in the same object.
   */
  into: z.array(z.string().min(1).max(100)).min(1).max(4),
  encoding: z.enum(['base64url', 'base64']),
});
export type CompiledCompose = z.infer<typeof compiledCompose>;
