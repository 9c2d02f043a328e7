import { request } from 'node:http';

/** Sends one GET with any headers. Unlike `fetch`, it can set `Host`. */
export async function requestRaw(
  port: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers }, (reply) => {
      let text = JSON.stringify(reply.headers);
      reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}
