import { runComponent } from '#process';
import { authConfig } from './config.ts';
import { startAuth } from './start.ts';

await runComponent(authConfig, async (config) => {
  const running = await startAuth(config);
  // A plain line for the person at the terminal; the link is a credential and never a log field.
  if (running.firstSignInUrl !== null) process.stdout.write(`Sign in: ${running.firstSignInUrl}\n`);
  return running;
});
