import { type ChatOptions, runChat } from './run-chat.ts'

/** Chats on this process's terminal, with its environment and folder. */
export async function runChatHere(options: ChatOptions): Promise<void> {
  process.exitCode = await runChat(options, {
    input: process.stdin,
    output: process.stdout,
    env: process.env,
    cwd: process.cwd(),
    isInteractive: process.stdin.isTTY === true && process.stdout.isTTY === true,
    onSignal: (listener) => {
      const interrupt = () => listener('interrupt')
      const terminate = () => listener('terminate')
      process.on('SIGINT', interrupt).on('SIGTERM', terminate).on('SIGHUP', terminate)
      return () => void process.off('SIGINT', interrupt).off('SIGTERM', terminate).off('SIGHUP', terminate)
    },
  })
}
