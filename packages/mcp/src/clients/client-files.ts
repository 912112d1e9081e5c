import { posix, win32 } from 'node:path'
import { anyObject, anyText, type OptionRules, required } from '@toolcrib/core/internal'
import {
  fromCodex,
  fromGoose,
  fromOpencode,
  fromZed,
  type ReadServers,
  serversUnder,
} from './read-servers.ts'

/** Where one program stores its MCP servers. */
export interface ClientFile {
  /** A short name, for flags and to distinguish servers with the same name. */
  readonly client: string
  readonly title: string
  readonly path: string
  readonly read: ReadServers
  /** true: the servers belong to the project, and perhaps to other people. */
  readonly isOfProject?: boolean
}

/** Whose files to look for, and where. */
export interface ClientPlace {
  readonly home: string
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** The project folder, for files that programs store there. */
  readonly cwd: string
}

/** All of these are required. */
export const PLACE_RULES: OptionRules<ClientPlace> = {
  home: required(anyText),
  platform: required(anyText),
  env: required(anyObject),
  cwd: required(anyText),
}

/** The files in which well-known MCP clients and editors store their servers, whether they exist or not. */
export function clientFiles({ home, platform, env, cwd }: ClientPlace): ClientFile[] {
  const { join } = platform === 'win32' ? win32 : posix
  // An empty variable counts as not set.
  const roaming = env.APPDATA || join(home, 'AppData', 'Roaming')
  const dotConfig = env.XDG_CONFIG_HOME || join(home, '.config')
  const applications =
    platform === 'win32'
      ? roaming
      : platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : dotConfig
  const zed = platform === 'win32' ? join(roaming, 'Zed') : join(dotConfig, 'zed')
  const goose = platform === 'win32' ? join(roaming, 'Block', 'goose', 'config') : join(dotConfig, 'goose')
  const mcpServers = serversUnder('mcpServers')
  const file = (client: string, title: string, path: string, read: ReadServers = mcpServers): ClientFile => ({
    client,
    title,
    path,
    read,
  })
  const ofProject = (each: ClientFile): ClientFile => ({ ...each, isOfProject: true })
  const editors = [
    ['vscode', 'VS Code', 'Code'],
    ['vscode-insiders', 'VS Code Insiders', 'Code - Insiders'],
    ['vscodium', 'VSCodium', 'VSCodium'],
  ] as const
  return [
    ofProject(file('project', 'This project', join(cwd, '.mcp.json'), serversUnder('mcpServers', 'servers'))),
    ofProject(file('project', 'This project', join(cwd, 'mcp.json'), serversUnder('mcpServers', 'servers'))),
    file('claude-desktop', 'Claude Desktop', join(applications, 'Claude', 'claude_desktop_config.json')),
    file('claude-code', 'Claude Code', join(home, '.claude.json')),
    ofProject(
      file(
        'claude-code',
        'Claude Code, this project',
        join(home, '.claude.json'),
        serversUnder(['projects', cwd, 'mcpServers']),
      ),
    ),
    file('cursor', 'Cursor', join(home, '.cursor', 'mcp.json')),
    ofProject(file('cursor', 'Cursor', join(cwd, '.cursor', 'mcp.json'))),
    ...editors.flatMap(([client, title, folder]) => {
      const user = join(applications, folder, 'User')
      const storage = join(user, 'globalStorage')
      return [
        file(client, title, join(user, 'mcp.json'), serversUnder('servers')),
        file(client, title, join(user, 'settings.json'), serversUnder(['mcp', 'servers'])),
        file(
          'cline',
          'Cline',
          join(storage, 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'),
        ),
        file('roo', 'Roo Code', join(storage, 'rooveterinaryinc.roo-cline', 'settings', 'mcp_settings.json')),
      ]
    }),
    ofProject(file('vscode', 'VS Code', join(cwd, '.vscode', 'mcp.json'), serversUnder('servers'))),
    file('windsurf', 'Windsurf', join(home, '.codeium', 'windsurf', 'mcp_config.json')),
    file('zed', 'Zed', join(zed, 'settings.json'), fromZed),
    ofProject(file('zed', 'Zed', join(cwd, '.zed', 'settings.json'), fromZed)),
    file('goose', 'Goose', join(goose, 'config.yaml'), fromGoose),
    ofProject(file('librechat', 'LibreChat', join(cwd, 'librechat.yaml'))),
    file('codex', 'Codex', join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'), fromCodex),
    file('gemini', 'Gemini CLI', join(home, '.gemini', 'settings.json')),
    file('opencode', 'opencode', join(dotConfig, 'opencode', 'opencode.json'), fromOpencode),
    file('lmstudio', 'LM Studio', join(home, '.lmstudio', 'mcp.json')),
    file('kiro', 'Kiro', join(home, '.kiro', 'settings', 'mcp.json')),
    file('amazon-q', 'Amazon Q', join(home, '.aws', 'amazonq', 'mcp.json')),
    file('junie', 'Junie', join(home, '.junie', 'mcp', 'mcp.json')),
  ]
}
