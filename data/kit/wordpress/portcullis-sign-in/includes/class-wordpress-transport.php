<?php
/**
 * Requests of the SDK by wp_remote_request, so that proxies and blocks of the site's owner hold.
 * Certificates are verified and redirects are not followed.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Exception\TransportException;
use Portcullis\Http\Response;
use Portcullis\Http\Transport;

defined( 'ABSPATH' ) || exit;

final class WordPress_Transport implements Transport {

	private const BODY_BYTES_MAX = 262144;

	public function __construct( private readonly float $timeout_seconds ) {
	}

	public function send( string $method, string $url, array $headers = array(), ?string $body = null ): Response {
		$answer = wp_remote_request(
			$url,
			array(
				'method'              => $method,
				'headers'             => $headers,
				'body'                => $body,
				'timeout'             => $this->timeout_seconds,
				'redirection'         => 0,
				'sslverify'           => true,
				'limit_response_size' => self::BODY_BYTES_MAX,
				'user-agent'          => 'portcullis-sign-in/' . VERSION,
			)
		);
		if ( is_wp_error( $answer ) ) {
			throw new TransportException( esc_html( $answer->get_error_message() ) );
		}
		$lines = array();
		foreach ( wp_remote_retrieve_headers( $answer ) as $name => $value ) {
			$lines[] = $name . ': ' . ( is_array( $value ) ? end( $value ) : $value );
		}
		return new Response(
			(int) wp_remote_retrieve_response_code( $answer ),
			Response::headersOf( $lines ),
			wp_remote_retrieve_body( $answer )
		);
	}
}
