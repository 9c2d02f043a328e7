import type { Identity } from '#contracts/http/identities';
import type { Invitation, SignInLink } from '#contracts/http/users';
import { misuse } from '../refusal.ts';
import type { RestCall } from './command.ts';
import type { Answer } from './output.ts';
import { findId } from './resource-handlers.ts';
import { users } from './resources.ts';

interface InviteOptions {
  readonly role?: string;
  readonly name?: string;
}

/**
 * `action-gateway users invite <email>`: prints only the link to stdout. The link is shown only
 * once.
 */
export async function inviteUser({
  api,
  args: [email],
  options: { role = 'member', name },
}: RestCall<InviteOptions>): Promise<Answer> {
  const body = { email, role, ...(name !== undefined && { name }) };
  const invited = await api.request<Invitation>('POST', '/v1/users/invitations', { body });
  return answerWithLink(invited, invited.user.path[0] ?? '');
}

/** `action-gateway users sign-in-link <user>`: prints a link for a user who forgot the password. */
export async function createSignInLink({ api, args: [user = ''] }: RestCall): Promise<Answer> {
  const id = await findId(api, users, user);
  const link = await api.request<SignInLink>('POST', `/v1/users/${id}/sign-in-links`);
  return answerWithLink(link, user);
}

function answerWithLink(link: SignInLink, name: string): Answer {
  return {
    data: link,
    show: { text: link.url },
    note: `Give this link to ${name} alone. It works once, until ${link.expires_at}, and is not shown again.`,
  };
}

interface ChangeOptions {
  readonly role?: string;
  readonly displayName?: string;
}

/** `action-gateway users change <user>`: changes the role or the display name. */
export async function changeUser({
  api,
  args: [user = ''],
  options: { role, displayName },
}: RestCall<ChangeOptions>): Promise<Answer> {
  if (role === undefined && displayName === undefined) {
    throw misuse('Say --role ROLE or --display-name NAME.');
  }
  const id = await findId(api, users, user);
  const changed = await api.request<Identity>('PATCH', `/v1/users/${id}`, {
    body: {
      ...(role !== undefined && { role }),
      ...(displayName !== undefined && { display_name: displayName || null }),
    },
  });
  return {
    data: changed,
    show: {
      text: `${changed.path[0]} is ${changed.role}, called ${changed.display_name ?? changed.path[0]}.`,
    },
  };
}
