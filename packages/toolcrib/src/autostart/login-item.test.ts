import { describe, expect, it } from 'vitest'
import { loginItem } from './login-item.ts'

const PLACE = {
  home: '/home/me',
  env: { PATH: '/usr/bin:/home/me/100%/bin' },
  uid: 501,
  program: { command: '/usr/bin/node', args: ['/opt/my "tools"/$x/main.js'] },
  config: '/home/me/a & b/toolcrib.toml',
}

describe('the login item', () => {
  it('is a unit of systemd on Linux, with every word quoted as it reads them', () => {
    const item = loginItem({ ...PLACE, platform: 'linux' })
    expect(item?.path).toBe('/home/me/.config/systemd/user/toolcrib.service')
    expect(item?.text).toBe(`[Unit]
Description=Toolcrib, one gateway before your MCP servers

[Service]
ExecStart="/usr/bin/node" "/opt/my \\"tools\\"/$$x/main.js" "serve" "--config" "/home/me/a & b/toolcrib.toml"
Environment="PATH=/usr/bin:/home/me/100%%/bin"
Restart=on-failure

[Install]
WantedBy=default.target
`)
    expect(item?.enable).toEqual([
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', 'toolcrib.service'],
    ])
  })

  it('is an agent of launchd on macOS, in valid XML', () => {
    const item = loginItem({ ...PLACE, platform: 'darwin' })
    expect(item?.path).toBe('/home/me/Library/LaunchAgents/dev.toolcrib.gateway.plist')
    expect(item?.text).toContain(`  <array>
    <string>/usr/bin/node</string>
    <string>/opt/my &#34;tools&#34;/$x/main.js</string>
    <string>serve</string>
    <string>--config</string>
    <string>/home/me/a &#38; b/toolcrib.toml</string>
  </array>`)
    expect(item?.text).toContain('<key>PATH</key>\n    <string>/usr/bin:/home/me/100%/bin</string>')
    expect(item?.disable).toEqual([['launchctl', 'bootout', 'gui/501/dev.toolcrib.gateway']])
  })

  it('is a scheduled task on Windows, of the user who logs in', () => {
    const env = { LOCALAPPDATA: 'C:\\Users\\me\\AppData\\Local', USERDOMAIN: 'PC', USERNAME: 'me' }
    const program = { command: 'C:\\Program Files\\nodejs\\node.exe', args: ['C:\\my tools\\main.js'] }
    const item = loginItem({ ...PLACE, platform: 'win32', env, program, config: 'C:\\toolcrib.toml' })
    expect(item?.path).toBe('C:\\Users\\me\\AppData\\Local\\toolcrib\\autostart.xml')
    expect(item?.encoding).toBe('utf16le')
    expect(item?.text).toContain('<UserId>PC\\me</UserId>')
    expect(item?.text).toContain('<Command>C:\\Program Files\\nodejs\\node.exe</Command>')
    expect(item?.text).toContain(
      '<Arguments>&#34;C:\\my tools\\main.js&#34; serve --config C:\\toolcrib.toml</Arguments>',
    )
  })

  it('is unknown elsewhere', () => {
    expect(loginItem({ ...PLACE, platform: 'aix' })).toBeUndefined()
  })
})
