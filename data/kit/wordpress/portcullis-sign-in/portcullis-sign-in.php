<?php
/**
 * Plugin Name:       Portcullis Sign In
 * Description:       Visitors sign in with Portcullis. Optionally: a CAPTCHA on sign-in, registration, lost passwords and comments, a check of the visitor's address, and reports of failed sign-ins.
 * Version:           1.0.0
 * Requires at least: 6.2
 * Requires PHP:      8.1
 * Author:            The Portcullis authors
 * License:           MIT
 * License URI:       https://opensource.org/license/mit
 * Text Domain:       portcullis-sign-in
 * Domain Path:       /languages
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

defined( 'ABSPATH' ) || exit;

const VERSION = '1.0.0';
const PLUGIN_FILE = __FILE__;

require __DIR__ . '/includes/class-settings.php';
require __DIR__ . '/includes/class-settings-page.php';
require __DIR__ . '/includes/class-connection.php';
require __DIR__ . '/includes/class-proxies.php';
require __DIR__ . '/includes/class-attempts.php';
require __DIR__ . '/includes/class-refusal.php';
require __DIR__ . '/includes/class-members.php';
require __DIR__ . '/includes/class-sign-in.php';
require __DIR__ . '/includes/class-login-button.php';
require __DIR__ . '/includes/class-profile-section.php';
require __DIR__ . '/includes/class-captcha-gate.php';
require __DIR__ . '/includes/class-address-gate.php';
require __DIR__ . '/includes/class-failure-reports.php';
require __DIR__ . '/includes/class-site-notices.php';

// The SDK travels with the plugin; a site that has it already keeps its own.
spl_autoload_register(
	static function ( string $name ): void {
		if ( ! str_starts_with( $name, 'Portcullis\\' ) ) {
			return;
		}
		$file = __DIR__ . '/lib/Portcullis/' . str_replace( '\\', '/', substr( $name, strlen( 'Portcullis\\' ) ) ) . '.php';
		if ( is_file( $file ) ) {
			require $file;
		}
	}
);

/**
 * Requests of the SDK by WordPress's own functions. Loaded when it is needed: it implements a
 * type of the SDK.
 *
 * @param float $timeout_seconds For the whole request.
 */
function transport( float $timeout_seconds = 10.0 ): WordPress_Transport {
	require_once __DIR__ . '/includes/class-wordpress-transport.php';
	return new WordPress_Transport( $timeout_seconds );
}

// One French for all who speak it: without this fr_CA and fr_BE would be English.
add_filter(
	'plugin_locale',
	static fn( $locale, $domain ) => 'portcullis-sign-in' === $domain && str_starts_with( (string) $locale, 'fr_' ) ? 'fr_FR' : $locale,
	10,
	2
);
add_action(
	'init',
	static function (): void {
		load_plugin_textdomain( 'portcullis-sign-in', false, dirname( plugin_basename( PLUGIN_FILE ) ) . '/languages' );
	}
);

Settings_Page::register();
Sign_In::register();
Login_Button::register();
Profile_Section::register();
Connection::register();
Captcha_Gate::register();
Address_Gate::register();
Failure_Reports::register();
Site_Notices::register();
