<?php
/**
 * Settings → Portcullis Sign In. The API key goes in and never comes out again.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\BaseUrl;
use Portcullis\Exception\ConfigurationError;

defined( 'ABSPATH' ) || exit;

final class Settings_Page {

	private const GROUP = 'portcullis_sign_in';
	private const SLUG  = 'portcullis-sign-in';

	public static function register(): void {
		add_action( 'admin_menu', array( self::class, 'add_page' ) );
		add_action( 'admin_init', array( self::class, 'add_setting' ) );
		add_filter( 'plugin_action_links_' . plugin_basename( PLUGIN_FILE ), array( self::class, 'add_link' ) );
	}

	public static function add_page(): void {
		add_options_page(
			__( 'Portcullis Sign In', 'portcullis-sign-in' ),
			__( 'Portcullis Sign In', 'portcullis-sign-in' ),
			'manage_options',
			self::SLUG,
			array( self::class, 'render' )
		);
	}

	public static function add_setting(): void {
		register_setting(
			self::GROUP,
			Settings::OPTION,
			array(
				'type'              => 'array',
				'sanitize_callback' => array( self::class, 'sanitize' ),
				'show_in_rest'      => false,
			)
		);
	}

	/**
	 * @param string[] $links Those beside the plugin in the list.
	 * @return string[]
	 */
	public static function add_link( array $links ): array {
		$url = admin_url( 'options-general.php?page=' . self::SLUG );
		array_unshift( $links, '<a href="' . esc_url( $url ) . '">' . esc_html__( 'Settings', 'portcullis-sign-in' ) . '</a>' );
		return $links;
	}

	/**
	 * @param mixed $input As the form sent it.
	 * @return array<string, string|bool>
	 */
	public static function sanitize( $input ): array {
		$input = is_array( $input ) ? $input : array();
		$clean = Settings::all();
		foreach ( array( 'base_url', 'secure_url' ) as $name ) {
			$clean[ $name ] = self::sanitize_url( $input[ $name ] ?? '', $name, (string) $clean[ $name ] );
		}
		$clean['site_key'] = self::sanitize_key_text( $input['site_key'] ?? '' );
		$api_key           = self::sanitize_key_text( $input['api_key'] ?? '' );
		if ( ! empty( $input['forget_api_key'] ) ) {
			$clean['api_key'] = '';
		} elseif ( '' !== $api_key ) {
			$clean['api_key'] = $api_key;
		}
		foreach ( Settings::FLAGS as $name ) {
			$clean[ $name ] = ! empty( $input[ $name ] );
		}
		$header                = $input['proxy_header'] ?? '';
		$clean['proxy_header'] = is_string( $header ) && isset( Proxies::HEADERS[ $header ] ) ? $header : 'X-Forwarded-For';
		$clean['proxies']      = self::sanitize_proxies( $input['proxies'] ?? '', (string) $clean['proxies'] );
		Captcha_Gate::look_again();
		return self::checked( $clean, Settings::all() );
	}

	/**
	 * Turns on only what will work: the service is asked first. What was on before stays as it was
	 * when the service is away, and a new address or key that does not work is not taken.
	 *
	 * @param array<string, string|bool> $clean  As they would be saved.
	 * @param array<string, string|bool> $before As they are.
	 * @return array<string, string|bool>
	 */
	private static function checked( array $clean, array $before ): array {
		$flags = array( ...Settings::CAPTCHA_FLAGS, ...Settings::ADDRESS_FLAGS );
		$on    = static fn( array $settings, array $names ): array => array_filter( $names, static fn( string $name ): bool => true === $settings[ $name ] );
		if ( array() === $on( $clean, $flags ) ) {
			return $clean;
		}
		if ( 1 !== preg_match( '/^pcs_[\x21-\x7e]+$/D', (string) $clean['site_key'] ) && array() !== $on( $clean, Settings::CAPTCHA_FLAGS ) ) {
			self::tell( 'site_key', __( 'The CAPTCHA needs a site key, which begins with pcs_. It was not turned on.', 'portcullis-sign-in' ) );
			$clean = array_merge( $clean, array_fill_keys( Settings::CAPTCHA_FLAGS, false ) );
		}
		$secure_url = '' === $clean['secure_url'] ? $clean['base_url'] : $clean['secure_url'];
		$site_key   = array() === $on( $clean, Settings::CAPTCHA_FLAGS ) ? '' : (string) $clean['site_key'];
		$fault      = Connection::fault( (string) $secure_url, (string) $clean['api_key'], $site_key );
		if ( null === $fault ) {
			Connection::forget();
			return $clean;
		}
		self::tell( 'connection', Connection::words( $fault ) . ' ' . __( 'Nothing was turned on.', 'portcullis-sign-in' ) );
		if ( Connection::MISSING === $fault ) {
			return array_merge( $clean, array_fill_keys( $flags, false ) );
		}
		if ( array() !== $on( $before, $flags ) ) {
			foreach ( array( 'base_url', 'secure_url', 'api_key', 'site_key' ) as $name ) {
				$clean[ $name ] = $before[ $name ];
			}
		}
		foreach ( $flags as $name ) {
			$clean[ $name ] = $clean[ $name ] && $before[ $name ];
		}
		return $clean;
	}

	private static function tell( string $code, string $words ): void {
		add_settings_error( Settings::OPTION, $code, $words );
	}

	/** What is no list of addresses and networks leaves the former one in its place. */
	private static function sanitize_proxies( mixed $value, string $former ): string {
		$text  = is_string( $value ) ? trim( sanitize_textarea_field( $value ) ) : '';
		$parts = preg_split( '/[\s,]+/', $text, -1, PREG_SPLIT_NO_EMPTY );
		$parts = is_array( $parts ) ? $parts : array();
		if ( count( $parts ) > Proxies::LISTED_MAX || count( Proxies::listed( $text ) ) !== count( $parts ) ) {
			self::tell( 'proxies', __( 'The proxies must be addresses or networks such as 192.0.2.0/24, at most 200.', 'portcullis-sign-in' ) );
			return $former;
		}
		return implode( "\n", $parts );
	}

	/** Keys are printable ASCII without spaces; an empty text for anything else. */
	private static function sanitize_key_text( mixed $value ): string {
		$text = is_string( $value ) ? trim( sanitize_text_field( $value ) ) : '';
		return 1 === preg_match( '/^[\x21-\x7e]{1,256}$/D', $text ) ? $text : '';
	}

	/** What is no address of a service leaves the former one in its place. */
	private static function sanitize_url( mixed $value, string $name, string $former ): string {
		$text = is_string( $value ) ? trim( sanitize_text_field( $value ) ) : '';
		if ( '' === $text ) {
			return '';
		}
		try {
			return BaseUrl::parse( esc_url_raw( $text, array( 'https', 'http' ) ) )->text();
		} catch ( ConfigurationError ) {
			add_settings_error(
				Settings::OPTION,
				$name,
				__( 'The address of the service must be a full address that begins with https://', 'portcullis-sign-in' )
			);
			return $former;
		}
	}

	public static function render(): void {
		if ( ! current_user_can( 'manage_options' ) ) {
			return;
		}
		?>
		<div class="wrap">
			<h1><?php echo esc_html( get_admin_page_title() ); ?></h1>
			<form action="options.php" method="post">
				<?php settings_fields( self::GROUP ); ?>
				<h2><?php esc_html_e( 'Sign-on', 'portcullis-sign-in' ); ?></h2>
				<table class="form-table" role="presentation">
					<?php
					self::text_row( 'base_url', __( 'Address of the sign-on service', 'portcullis-sign-in' ), 'url', 'https://id.example.com' );
					self::facts_row( __( 'Client id', 'portcullis-sign-in' ), Settings::client_id(), __( 'The domain of this site. There is nothing to register and no secret.', 'portcullis-sign-in' ) );
					self::facts_row( __( 'Redirect address', 'portcullis-sign-in' ), Settings::redirect_uri(), self::redirect_note() );
					self::flag_row( 'link_by_email', __( 'Existing accounts', 'portcullis-sign-in' ), __( 'Sign somebody in to the account that has the same verified email address. Never to one that may manage the site: its owner links it on the profile page.', 'portcullis-sign-in' ) );
					?>
				</table>
				<h2><?php esc_html_e( 'Reputation and CAPTCHA (optional)', 'portcullis-sign-in' ); ?></h2>
				<table class="form-table" role="presentation">
					<?php
					self::text_row( 'secure_url', __( 'Address of the reputation service', 'portcullis-sign-in' ), 'url', __( 'the same', 'portcullis-sign-in' ) );
					self::api_key_row();
					self::text_row( 'site_key', __( 'Site key of the CAPTCHA', 'portcullis-sign-in' ), 'text', 'pcs_…' );
					self::flag_row( 'captcha_login', __( 'CAPTCHA', 'portcullis-sign-in' ), __( 'On the forms that ask for a password. While the service is away, they take passwords without it.', 'portcullis-sign-in' ) );
					self::flag_row( 'captcha_register', '', __( 'On the forms to register', 'portcullis-sign-in' ) );
					self::flag_row( 'captcha_lost_password', '', __( 'On the forms for a lost password', 'portcullis-sign-in' ) );
					self::flag_row( 'captcha_comments', '', __( 'On comments of visitors who are not signed in', 'portcullis-sign-in' ) );
					self::flag_row( 'check_address', __( 'Addresses', 'portcullis-sign-in' ), __( 'Refuse to sign in from addresses with a malicious score. If the service does not answer, everybody may.', 'portcullis-sign-in' ) );
					self::flag_row( 'report_failures', '', __( 'Report addresses from which signing in fails again and again. Sends the address and a count, no names.', 'portcullis-sign-in' ) );
					?>
				</table>
				<h2><?php esc_html_e( 'Proxies (optional)', 'portcullis-sign-in' ); ?></h2>
				<table class="form-table" role="presentation">
					<?php self::proxy_rows(); ?>
				</table>
				<?php submit_button(); ?>
			</form>
		</div>
		<?php
	}

	private static function field_name( string $name ): string {
		return Settings::OPTION . '[' . $name . ']';
	}

	private static function text_row( string $name, string $label, string $type, string $placeholder ): void {
		$id    = 'portcullis-sign-in-' . $name;
		$value = Settings::text( $name );
		if ( '' === $value && 'base_url' === $name ) {
			$value = Settings::SUGGESTED_URL;
		}
		printf(
			'<tr><th scope="row"><label for="%1$s">%2$s</label></th><td><input class="regular-text code" type="%3$s" id="%1$s" name="%4$s" value="%5$s" placeholder="%6$s"></td></tr>',
			esc_attr( $id ),
			esc_html( $label ),
			esc_attr( $type ),
			esc_attr( self::field_name( $name ) ),
			esc_attr( $value ),
			esc_attr( $placeholder )
		);
	}

	private static function api_key_row(): void {
		$is_saved = '' !== Settings::text( 'api_key' );
		printf(
			'<tr><th scope="row"><label for="portcullis-sign-in-api_key">%1$s</label></th><td><input class="regular-text code" type="password" autocomplete="off" id="portcullis-sign-in-api_key" name="%2$s" value="" placeholder="%3$s">',
			esc_html__( 'API key', 'portcullis-sign-in' ),
			esc_attr( self::field_name( 'api_key' ) ),
			$is_saved ? esc_attr__( 'saved; leave empty to keep it', 'portcullis-sign-in' ) : 'pcl_…'
		);
		if ( $is_saved ) {
			printf(
				'<br><label><input type="checkbox" name="%1$s" value="1"> %2$s</label>',
				esc_attr( self::field_name( 'forget_api_key' ) ),
				esc_html__( 'Forget the key', 'portcullis-sign-in' )
			);
		}
		echo '</td></tr>';
	}

	private static function proxy_rows(): void {
		printf(
			'<tr><th scope="row"><label for="portcullis-sign-in-proxies">%1$s</label></th><td><textarea class="regular-text code" rows="3" id="portcullis-sign-in-proxies" name="%2$s">%3$s</textarea><p class="description">%4$s</p></td></tr>',
			esc_html__( 'Addresses of your proxy or CDN', 'portcullis-sign-in' ),
			esc_attr( self::field_name( 'proxies' ) ),
			esc_textarea( Settings::text( 'proxies' ) ),
			esc_html__( 'Addresses and networks, one a line. From them alone the header below is believed; without them everybody has the address of the connection.', 'portcullis-sign-in' )
		);
		printf(
			'<tr><th scope="row"><label for="portcullis-sign-in-proxy_header">%1$s</label></th><td><select id="portcullis-sign-in-proxy_header" name="%2$s">',
			esc_html__( 'Header with the visitor’s address', 'portcullis-sign-in' ),
			esc_attr( self::field_name( 'proxy_header' ) )
		);
		foreach ( array_keys( Proxies::HEADERS ) as $header ) {
			printf( '<option %1$s>%2$s</option>', selected( Settings::text( 'proxy_header' ), $header, false ), esc_html( $header ) );
		}
		echo '</select></td></tr>';
	}

	private static function flag_row( string $name, string $heading, string $label ): void {
		printf(
			'<tr><th scope="row">%1$s</th><td><label><input type="checkbox" name="%2$s" value="1" %3$s> %4$s</label></td></tr>',
			esc_html( $heading ),
			esc_attr( self::field_name( $name ) ),
			checked( Settings::flag( $name ), true, false ),
			esc_html( $label )
		);
	}

	private static function facts_row( string $heading, string $value, string $note ): void {
		printf(
			'<tr><th scope="row">%1$s</th><td><code>%2$s</code><p class="description">%3$s</p></td></tr>',
			esc_html( $heading ),
			esc_html( $value ),
			esc_html( $note )
		);
	}

	private static function redirect_note(): string {
		return str_starts_with( Settings::redirect_uri(), 'https://' )
			? __( 'The service sends visitors back here.', 'portcullis-sign-in' )
			: __( 'The service sends visitors back to https addresses alone: this site needs https.', 'portcullis-sign-in' );
	}
}
