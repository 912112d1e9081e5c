import { render } from 'preact'
import { App } from './app.tsx'
import { startKeys } from './keys.ts'
import { startLive } from './live.ts'
import { startSignIn } from './signed-in.ts'
import { startTheme } from './theme.ts'

startSignIn()
startTheme()
startKeys()
startLive()
const place = document.getElementById('app')
// What was there was only for the first moment.
place?.replaceChildren()
if (place) render(<App />, place)
