import type { z } from 'zod';

import type { createdWebhook } from '#contracts/http/webhooks';
import type { RestCall } from './command.ts';
import type { Answer } from './output.ts';

interface AddOptions {
  readonly event?: readonly string[];
  readonly description?: string;
}

/**
 * `action-gateway webhooks add <url>`: prints only the secret for the signatures to stdout. The
 * secret is shown only once.
 */
export async function addWebhook({
  api,
  args: [url],
  options: { event, description },
}: RestCall<AddOptions>): Promise<Answer> {
  const webhook = await api.request<z.infer<typeof createdWebhook>>('POST', '/v1/webhooks', {
    body: {
      url,
      ...(event !== undefined && { events: event }),
      ...(description !== undefined && { description }),
    },
  });
  const { id, status, secret } = webhook;
  const next = status === 'active' ? '' : ` Its events wait until it has answered the handshake.`;
  return {
    data: webhook,
    show: { text: secret },
    note: `The webhook ${id} is ${status}.${next} This secret checks its signatures and is not shown again.`,
  };
}
